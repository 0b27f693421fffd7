"""Alembic's entry: runs the missing steps on the connection it was handed, inside that connection's transaction.

It deliberately opens no connection and reads no file.
"""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True, transaction_per_migration=False)
context.run_migrations()
