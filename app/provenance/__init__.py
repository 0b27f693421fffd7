"""Signed records: what made a file, in a form anyone can verify.

A record is an in-toto Statement v1 in a DSSE envelope, its payload in RFC 8785 canonical form, signed with this
installation's Ed25519 key. Each record names the digest of the one before it, so the log is a chain.

It deliberately proves neither who ran something nor when: a local key names an installation, and its clock is its own.
"""
