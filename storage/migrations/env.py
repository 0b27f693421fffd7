"""Alembic's entry: runs the missing steps on the connection it was handed, inside that connection's transaction.

A step and its version number are committed together, so a killed process leaves the old schema or the new one.
It deliberately opens no connection and reads no file.
"""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True, transaction_per_migration=False)
context.run_migrations()
