-- Two roles and a database for Waxwing, with the least rights. Run it once, as a superuser:
--     psql --set=ON_ERROR_STOP=1 --file=roles.sql postgres
-- and give both roles a password: \password waxwing_owner, \password waxwing_serve. Another name of the database:
-- --set=database=NAME.

\if :{?database}
\else
    \set database waxwing
\endif

-- Makes the tables and migrates them. Whoever upgrades uses this role; no server does.
CREATE ROLE waxwing_owner LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE;
-- In store.url of the servers: reads and writes rows. It owns nothing, so it can neither change a table nor switch off a
-- trigger: the audit log stays append-only for it, and so does the ledger, but for accounts in the state `deleting`.
CREATE ROLE waxwing_serve LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE;

CREATE DATABASE :"database" OWNER waxwing_owner ENCODING 'UTF8' TEMPLATE template0;
REVOKE ALL ON DATABASE :"database" FROM PUBLIC;
GRANT CONNECT ON DATABASE :"database" TO waxwing_serve;

\connect :"database"

-- Of all tables that waxwing_owner makes from now on, at the first start and in later migrations.
ALTER DEFAULT PRIVILEGES FOR ROLE waxwing_owner GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO waxwing_serve;
ALTER DEFAULT PRIVILEGES FOR ROLE waxwing_owner GRANT USAGE ON SEQUENCES TO waxwing_serve;
