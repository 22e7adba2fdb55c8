//! Serves one part of a message (the HTML, an attachment) so that a browser runs none of its scripts.

use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mail_parser::{Message, MimeHeaders};

use super::content::{Attachment, html_text, parsed};
use super::page::percent_encoded;

const PREVIEW: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
                       frame-ancestors 'self'";
const DOWNLOAD: &str = "sandbox; default-src 'none'";

/// The HTML part for a frame, with the images that it brings along.
pub fn preview(raw: &[u8]) -> Option<Response> {
    let html = preview_html(raw)?;
    let headers = [(CONTENT_TYPE, "text/html; charset=utf-8"), (CONTENT_SECURITY_POLICY, PREVIEW)];
    Some((headers, html).into_response())
}

/// The HTML part with the images that it brings along.
pub fn preview_html(raw: &[u8]) -> Option<String> {
    let message = parsed(raw)?;
    Some(with_own_images(html_text(&message)?, &message))
}

/// An attachment, to be saved and never to be shown in place.
pub fn attachment(raw: &[u8], number: usize) -> Option<Response> {
    let message = parsed(raw)?;
    let part = message.attachments().nth(number)?;
    let about = Attachment::of((number, part));
    let content_type = HeaderValue::from_str(&about.content_type)
        .unwrap_or(HeaderValue::from_static("application/octet-stream"));
    let disposition = HeaderValue::from_str(&disposition(&about.filename))
        .unwrap_or(HeaderValue::from_static("attachment"));
    let headers = [
        (CONTENT_TYPE, content_type),
        (CONTENT_DISPOSITION, disposition),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(DOWNLOAD)),
    ];
    Some((headers, part.contents().to_vec()).into_response())
}

/// Replaces `cid:` addresses of the message's own images (RFC 2392) by the images themselves.
fn with_own_images(html: String, message: &Message<'_>) -> String {
    if !html.contains("cid:") {
        return html;
    }
    message.attachments().enumerate().fold(html, |html, (number, part)| {
        let about = Attachment::of((number, part));
        match part.content_id() {
            Some(id)
                if about.content_type.starts_with("image/") && is_plain(&about.content_type) =>
            {
                let image = STANDARD.encode(part.contents());
                html.replace(
                    &format!("cid:{id}"),
                    &format!("data:{};base64,{image}", about.content_type),
                )
            }
            Some(_) | None => html,
        }
    })
}

fn is_plain(media_type: &str) -> bool {
    media_type.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/+-.".contains(&byte))
}

/// RFC 6266, with the name in the form of RFC 8187.
fn disposition(filename: &str) -> String {
    format!("attachment; filename*=UTF-8''{}", percent_encoded(filename))
}
