//! kill -9 in the middle of a push: every template is as it was or as the folder says, and a second push ends it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::task::block_in_place;
use waxwing_tests::{Server, until_async};

use super::api;
use crate::fixture::Database;

const TEMPLATES: usize = 120;
const BOUND: Duration = Duration::from_mins(1);
/// Versions of the folder's templates, and of its layout and partial.
const VERSIONS: &str =
    "SELECT count(*) FROM template_versions v JOIN templates t ON t.id = v.template_id
                        WHERE t.slug LIKE 'n-%' OR t.slug IN ('frame', 'foot')";

/// Writes the folder at a version: each part of each template says which.
fn write(folder: &Path, version: usize) {
    let put = |path: &str, text: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    };
    put("_layouts/frame.liquid", &format!("<main>frame {version} {{{{ content }}}}</main>"));
    put("_partials/foot.liquid", &format!("foot {version}"));
    for number in 0..TEMPLATES {
        let slug = format!("n-{number}");
        put(
            &format!("{slug}/template.toml"),
            "name = 'Note'\ndescription = 'A test.'\nlayout = 'frame'\n",
        );
        put(&format!("{slug}/subject.liquid"), &format!("subject {version}"));
        put(&format!("{slug}/html.liquid"), &format!("<p>html {version}</p>{{% render 'foot' %}}"));
    }
}

/// Pushes the folder; how it ended, and what it said.
fn push(server: &Server, folder: &Path) -> (bool, String) {
    let output = server.cli_as(server.key(), folder, &["template", "push", ".", "--json"]);
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

/// What a recipient of the published version would get: the version of the subject, and those in the HTML.
async fn published(server: &Server, slug: &str) -> Option<(String, BTreeSet<String>)> {
    let path = format!("/v1/templates/{slug}/preview");
    let shown = api(server, Method::POST, &path, &json!({"of": "published"})).await;
    if shown.status != 200 {
        assert!(matches!(shown.status, 404 | 409), "{slug}: {}", shown.body);
        return None;
    }
    let text = |part: &str| shown.body["parts"][part].as_str().expect("a text").to_owned();
    let words = text("html").replace(['<', '>'], " ");
    let versions = words.split(' ').filter(|it| it.parse::<usize>().is_ok());
    Some((text("subject"), versions.map(str::to_owned).collect()))
}

/// Each template is whole at one of two versions. Its layout and partial were published before it, and it has them as
/// they were at its own publication, or as they are since.
async fn assert_whole(server: &Server, version: usize) {
    let (now, before) = (version.to_string(), (version - 1).to_string());
    for number in 0..TEMPLATES {
        let Some((subject, versions)) = published(server, &format!("n-{number}")).await else {
            assert_eq!(version, 1, "n-{number} was published before");
            continue;
        };
        if subject == format!("subject {now}") {
            assert_eq!(versions, BTreeSet::from([now.clone()]), "n-{number}");
        } else {
            assert_eq!(subject, format!("subject {before}"), "n-{number}");
            assert!(versions.contains(&before), "n-{number} has its own HTML: {versions:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_is_killed_leaves_nothing_half_and_a_second_one_ends_it() {
    let mut server = Server::dev();
    let folder = server.scratch("interrupted");
    let all = i64::try_from(TEMPLATES + 2).expect("a number");
    for (version, killed_after) in [(1, 5), (2, 40), (3, 110)] {
        write(&folder, version);
        let before = Database::of(&server).await.number(VERSIONS).await;
        let process = server.process_id().expect("the server runs").to_string();
        let (is_done, said) = block_in_place(|| {
            thread::scope(|scope| {
                let pushing = scope.spawn(|| push(&server, &folder));
                Handle::current().block_on(async {
                    let database = &Database::of(&server).await;
                    let ask = || async move {
                        (database.number(VERSIONS).await >= before + killed_after).then_some(())
                    };
                    until_async("enough are published", BOUND, ask).await;
                });
                let killed = std::process::Command::new("kill").args(["-KILL", &process]).status();
                assert!(killed.expect("it runs").success());
                pushing.join().expect("the command ends")
            })
        });
        assert!(!is_done, "it was killed in the middle: {said}");
        server.wait_for_exit();
        let database = Database::of(&server).await;
        database.assert_sound().await;
        let left = database.number(VERSIONS).await - before;
        assert!((killed_after..all).contains(&left), "{left} of {all} were published");
        drop(database);
        server.restart();
        assert_whole(&server, version).await;

        // What was left is done, once.
        for changed in [all - left, 0] {
            let (is_done, said) = push(&server, &folder);
            assert!(is_done, "{said}");
            let told: Value = serde_json::from_str(&said).expect("--json prints JSON");
            let outcomes = told["data"].as_array().expect("a list").iter();
            let again = outcomes.filter(|it| it["outcome"] != "unchanged").count();
            assert_eq!(i64::try_from(again).expect("a number"), changed, "{said}");
        }
        for number in 0..TEMPLATES {
            let wanted = BTreeSet::from([version.to_string()]);
            let shown = published(&server, &format!("n-{number}")).await;
            assert_eq!(shown, Some((format!("subject {version}"), wanted)), "n-{number}");
        }
    }
    Database::of(&server).await.assert_sound().await;
}
