//! What the files of migrations are held to.

use super::*;

/// How the first line of a file begins whose migration needs programs that have it.
const CONTRACTS: &str = "contract: ";
/// Files that landed before a file had to say whether it expands or contracts. They never change.
const SILENT: [i64; 6] = [1, 2, 3, 4, 5, 7];

#[test]
fn every_file_is_a_migration() {
    let all = [(&CURRENT, &FILES), (&EARLIER, &EARLIER_FILES), (&POSTGRES, &POSTGRES_FILES)];
    for (migrator, files) in all {
        assert_eq!(migrator.iter().count(), files.files().count());
    }
    let versions: Vec<i64> = EARLIER.iter().map(|it| it.version).collect();
    assert_eq!(versions, (1..=15).collect::<Vec<_>>());
}

#[test]
fn a_migration_that_does_not_say_what_it_needs_needs_itself() {
    let needs = |text| {
        let made = migration(12, "later", text);
        needed(made.version, &made.description)
    };
    assert_eq!(needs("-- expand: a table that earlier versions do not know\nSELECT 1"), 0);
    assert_eq!(needs("-- contract after 0009: nobody reads it since\nSELECT 1"), 9);
    assert_eq!(needs("-- contract after 13: a later one than itself\nSELECT 1"), 12);
    for silent in [
        "SELECT 1",
        "-- contract: nobody reads it\nSELECT 1",
        "-- contract after some: \nSELECT 1",
        "--expand: no blank\nSELECT 1",
        "SELECT 1\n-- expand: not in the first line",
    ] {
        assert_eq!(needs(silent), 12, "{silent}");
    }
    for description in ["several writers", "a (needs 0) b", "a (needs x)", "a (needs 8)"] {
        assert_eq!(needed(7, description), 7, "{description}");
    }
}

#[test]
fn every_new_migration_of_postgresql_says_whether_nodes_before_it_go_on() {
    for it in POSTGRES.iter().filter(|it| !SILENT.contains(&it.version)) {
        let first = first_comment(it.sql.as_str()).unwrap_or_default();
        let says_why = |begin: &str| first.strip_prefix(begin).is_some_and(|why| why.len() > 10);
        let after = first.strip_prefix(CONTRACTS_AFTER).and_then(|it| it.split_once(": "));
        let after = after.filter(|(_, why)| why.len() > 10).and_then(|(it, _)| it.parse().ok());
        let names_another =
            after.is_some_and(|other: i64| other < it.version && POSTGRES.version_exists(other));
        assert!(
            says_why(EXPANDS) || says_why(CONTRACTS) || names_another,
            "migration {} begins with `{first}`: see migrations/README.md",
            it.version
        );
    }
}

#[test]
fn no_migration_that_expands_takes_anything_away() {
    let expands = |text: &str| first_comment(text).is_some_and(|it| it.starts_with(EXPANDS));
    let expanding = POSTGRES.iter().filter(|it| expands(it.sql.as_str()));
    let broken: Vec<String> = expanding
        .flat_map(|it| faults(it.sql.as_str()).map(move |fault| format!("{}: {fault}", it.version)))
        .collect();
    assert!(broken.is_empty(), "earlier nodes do not go on with {broken:#?}");
}

#[test]
fn what_takes_something_away_is_found_in_a_migration() {
    let found = |text: &str| faults(text).collect::<Vec<_>>();
    for fine in [
        "-- expand: no DROP TABLE here\nCREATE TABLE a (id BIGINT PRIMARY KEY, b TEXT NOT NULL UNIQUE)",
        "CREATE TABLE a (b BIGINT NOT NULL); CREATE UNIQUE INDEX a_by_b ON a (b);
         ALTER TABLE a ALTER COLUMN b SET STORAGE EXTERNAL; ALTER TABLE a ADD CHECK (b > 0)",
        "ALTER TABLE messages ADD COLUMN later TEXT",
        "ALTER TABLE messages ADD COLUMN later BIGINT NOT NULL DEFAULT 0, ADD COLUMN more TEXT",
        "ALTER TABLE messages ADD later TEXT NOT NULL DEFAULT 'DROP; RENAME'",
        "CREATE INDEX domains_by_later ON domains (later)",
        "CREATE OR REPLACE FUNCTION f() RETURNS VOID LANGUAGE plpgsql AS $$ BEGIN DELETE FROM a; END $$;",
        "CREATE TRIGGER t AFTER INSERT ON a FOR EACH ROW EXECUTE FUNCTION f()",
        "INSERT INTO upkeep (name, value) VALUES ('a', 'it''s TRUNCATE')",
        "ALTER TABLE messages ALTER COLUMN later SET DEFAULT 7",
        "ALTER TABLE messages SET (fillfactor = 50)",
    ] {
        assert!(found(fine).is_empty(), "{fine}: {:?}", found(fine));
    }
    for taken in [
        "DROP TABLE a",
        "CREATE TABLE b (c BIGINT); DROP INDEX a_by_b",
        "DELETE FROM a WHERE b",
        "TRUNCATE a",
        "ALTER TABLE a RENAME TO b",
        "ALTER TABLE a RENAME COLUMN b TO c",
        "ALTER TABLE a DROP COLUMN b",
        "ALTER TABLE a ADD COLUMN c TEXT, DROP CONSTRAINT b",
        "ALTER TABLE a ALTER COLUMN b SET NOT NULL",
        "ALTER TABLE a ALTER b DROP DEFAULT",
        "ALTER TABLE a ALTER COLUMN b TYPE TEXT",
        "ALTER TABLE a ALTER COLUMN b SET DATA TYPE TEXT",
        "ALTER TABLE a ADD COLUMN b TEXT NOT NULL",
        "alter table only a add column if not exists b text not null",
        "ALTER TABLE a ADD COLUMN b BIGINT DEFAULT 0, ADD COLUMN c BIGINT NOT NULL",
        "ALTER TABLE a ADD COLUMN b BIGINT UNIQUE",
        "ALTER TABLE a ADD COLUMN b BIGINT GENERATED ALWAYS AS IDENTITY",
        "ALTER TABLE a ADD COLUMN b TEXT NOT NULL DEFAULT gen_random_uuid()",
        "ALTER TABLE a ADD CONSTRAINT b CHECK (c > 0)",
        "ALTER TABLE a ADD PRIMARY KEY (b)",
        "ALTER TABLE a ADD UNIQUE (b)",
        "ALTER TABLE a ADD FOREIGN KEY (b) REFERENCES c (id)",
        "CREATE UNIQUE INDEX a_by_b ON a (b)",
        "ALTER INDEX a_by_b RENAME TO b_by_a",
        "CREATE RULE r AS ON INSERT TO a DO INSTEAD NOTHING",
    ] {
        assert_eq!(found(taken).len(), 1, "{taken}: {:?}", found(taken));
    }
}

/// The statements of a migration that earlier programs may not be able to live with, by their words alone. Statements about a
/// table that the migration itself makes are none of them: no program knows that table yet.
fn faults(text: &str) -> impl Iterator<Item = String> + use<> {
    let text = words(text);
    let statements: Vec<Vec<String>> = text
        .split(';')
        .map(|it| it.split_whitespace().map(str::to_uppercase).collect::<Vec<_>>())
        .filter(|it| !it.is_empty())
        .collect();
    let made: Vec<String> = statements.iter().filter_map(|it| made(it)).collect();
    let is_fault = move |it: &Vec<String>| takes_away(it, &made);
    statements.into_iter().filter(is_fault).map(|it| it.join(" "))
}

/// The text without comments, with its literals and the bodies of its functions empty, and parentheses and commas as
/// words.
fn words(text: &str) -> String {
    let lines = text.lines().map(|line| line.split_once("--").map_or(line, |(code, _)| code));
    let text = lines.collect::<Vec<_>>().join("\n");
    let text = outside("'", &outside("$$", &text));
    text.replace('(', " ( ").replace(')', " ) ").replace(',', " , ")
}

/// The text without what stands between two quotes each.
fn outside(quote: &str, text: &str) -> String {
    text.split(quote).step_by(2).collect::<Vec<_>>().join("''")
}

/// The table that a statement makes.
fn made(statement: &[String]) -> Option<String> {
    let rest = after(statement, &["CREATE", "TABLE"])?;
    after(rest, &["IF", "NOT", "EXISTS"]).unwrap_or(rest).first().cloned()
}

fn takes_away(statement: &[String], made: &[String]) -> bool {
    let is_made = |table: Option<&String>| table.is_some_and(|it| made.contains(it));
    let has = |word: &str| statement.iter().any(|it| it == word);
    let first = statement.first().map_or("", String::as_str);
    if ["DROP", "DELETE", "TRUNCATE"].contains(&first)
        || (first == "ALTER" && has("RENAME"))
        || after(statement, &["CREATE", "RULE"]).is_some()
    {
        return true;
    }
    if after(statement, &["CREATE", "UNIQUE", "INDEX"]).is_some() {
        return !is_made(statement.iter().skip_while(|it| *it != "ON").nth(1));
    }
    let Some(rest) = after(statement, &["ALTER", "TABLE"]) else { return false };
    let rest = after(rest, &["IF", "EXISTS"]).unwrap_or(rest);
    let rest = after(rest, &["ONLY"]).unwrap_or(rest);
    let actions = actions(rest.get(1..).unwrap_or_default());
    !is_made(rest.first()) && actions.iter().any(|it| changes(it))
}

/// The actions of an `ALTER TABLE`: what stands between commas that are in no parentheses.
fn actions(rest: &[String]) -> Vec<Vec<String>> {
    let (mut depth, mut actions) = (0, vec![Vec::new()]);
    for word in rest {
        match word.as_str() {
            "(" => depth += 1,
            ")" => depth -= 1,
            "," if depth == 0 => {
                actions.push(Vec::new());
                continue;
            }
            _ => {}
        }
        actions.last_mut().expect("there is one").push(word.clone());
    }
    actions
}

/// Whether an action of an `ALTER TABLE` changes what was there before, or refuses rows that were fine.
fn changes(action: &[String]) -> bool {
    let has = |words: &[&str]| action.windows(words.len()).any(|it| it == words);
    if let Some(rest) = after(action, &["ADD"]) {
        let begins = rest.first().map_or("", String::as_str);
        if ["CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "EXCLUDE"].contains(&begins) {
            return true;
        }
        let wants_a_value = has(&["NOT", "NULL"]) && !has(&["DEFAULT"]);
        // A value that is not the same for all rows is written into each of them.
        let default = action.split(|it| it == "DEFAULT").nth(1).unwrap_or_default();
        let is_called = default.iter().any(|it| it == "(");
        let is_unlike = has(&["UNIQUE"]) || has(&["PRIMARY"]) || has(&["GENERATED"]);
        return wants_a_value || is_called || is_unlike;
    }
    after(action, &["RENAME"]).is_some()
        || has(&["DROP"])
        || has(&["TYPE"])
        || has(&["SET", "NOT", "NULL"])
}

/// What follows these words at the beginning.
fn after<'a>(statement: &'a [String], words: &[&str]) -> Option<&'a [String]> {
    let begins = statement.len() >= words.len() && statement.iter().zip(words).all(|(a, b)| a == b);
    begins.then(|| statement.get(words.len()..).unwrap_or_default())
}
