//! Holds a message that arrived against what its client was told to send.

/// What a submission server adds where it is missing (RFC 6409 section 8).
const ADDED: [&str; 2] = ["date", "message-id"];

/// A message is as it was told, apart from `hops` fields Received before it, Bcc, and what was
/// missing in it.
pub fn assert_as_told(told: &[u8], arrived: &[u8], hops: usize) {
    let (mut told, told_body) = split(told);
    told.retain(|field| name(field) != "bcc");
    let (mut fields, body) = split(arrived);
    let is_trace = |field: &&Vec<u8>| name(field) == "received";
    let trace = fields.iter().take_while(is_trace).count();
    assert_eq!(trace, hops, "fields Received: {}", shown(&fields));
    fields.drain(..trace);
    for added in ADDED {
        if !told.iter().any(|field| name(field) == added) {
            let count = fields.iter().filter(|field| name(field) == added).count();
            assert_eq!(count, 1, "{added} was added once: {}", shown(&fields));
            fields.retain(|field| name(field) != added);
        }
    }
    assert_eq!(shown(&fields), shown(&told), "the header");
    if body != told_body {
        let differs = body.iter().zip(told_body).take_while(|(is, was)| is == was).count();
        let near = |it: &[u8]| {
            let near = it.iter().skip(differs.saturating_sub(60)).take(120).copied();
            String::from_utf8_lossy(&near.collect::<Vec<u8>>()).into_owned()
        };
        let lengths = (body.len(), told_body.len());
        assert_eq!(near(body), near(told_body), "the body from {differs}, lengths {lengths:?}");
    }
}

/// The fields of the header, each with its continuation lines, and the body.
fn split(raw: &[u8]) -> (Vec<Vec<u8>>, &[u8]) {
    let mut fields: Vec<Vec<u8>> = Vec::new();
    let mut rest = raw;
    while let Some(end) = rest.iter().position(|octet| *octet == b'\n') {
        let (line, after) = rest.split_at(end + 1);
        rest = after;
        match (line.first(), fields.last_mut()) {
            (Some(b'\r'), _) => return (fields, rest),
            (Some(b' ' | b'\t'), Some(field)) => field.extend_from_slice(line),
            _ => fields.push(line.to_vec()),
        }
    }
    (fields, rest)
}

fn name(field: &[u8]) -> String {
    let name = field.split(|octet| *octet == b':').next().unwrap_or_default();
    String::from_utf8_lossy(name).trim().to_lowercase()
}

fn shown(fields: &[Vec<u8>]) -> String {
    String::from_utf8_lossy(&fields.concat()).replace('\r', "\u{240d}")
}
