//! The refusals that routes document: a status, and what it says.

use std::collections::BTreeMap;

use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema};

use super::Problem;

macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident { $($status:literal: $about:literal,)* })*) => {$(
        $(#[$doc])*
        pub enum $name {}

        impl IntoResponses for $name {
            fn responses() -> BTreeMap<String, RefOr<Response>> {
                BTreeMap::from([$((stringify!($status).to_owned(), problem($about))),*])
            }
        }
    )*};
}

refusals! {
    /// The refusals of the send routes.
    Refusals {
        400: "`BAD_REQUEST`: all faults at once.",
        401: "`UNAUTHORIZED`: the key is missing, unknown, expired or switched off.",
        402: "`INSUFFICIENT_BALANCE`: nothing was charged, nothing was stored.",
        403: "`DOMAIN_NOT_VERIFIED`, `RESTRICTED_TEMPLATE` or `FORBIDDEN`.",
        408: "`REQUEST_TIMEOUT`: the body did not arrive in time.",
        409: "`CONFLICT`: a request with this Idempotency-Key is running.",
        413: "`PAYLOAD_TOO_LARGE`.",
        415: "`UNSUPPORTED_MEDIA_TYPE`: not JSON.",
        422: "`IDEMPOTENCY_CONFLICT`: the key was used for another request.",
        429: "`RATE_LIMITED`: see `Retry-After`.",
        500: "`INTERNAL`: a bug, or a broken published template.",
        503: "`UNAVAILABLE`: a plugin failed closed, the store is not reachable, or the server is\n\
        shutting down; see `Retry-After`.",
    }

    /// The refusals of a change of the brand.
    BrandRefusals {
        400: "`BAD_REQUEST`: every value that is not of its type.",
        401: "`UNAUTHORIZED`: the key is missing, unknown, expired or switched off.",
        403: "`FORBIDDEN`: the key has not the scope `admin`, or with `account` the scope `operator`; is a test key, or is\n\
        for some domains or templates only; or the account is suspended.",
        404: "`NOT_FOUND`: there is no such account.",
        408: "`REQUEST_TIMEOUT`: the body did not arrive in time.",
        413: "`PAYLOAD_TOO_LARGE`",
        415: "`UNSUPPORTED_MEDIA_TYPE`: not JSON.",
        429: "`RATE_LIMITED`: too many failed logins.",
        500: "`INTERNAL`",
        503: "`UNAVAILABLE`: the store gives no answer, or the server is shutting down.",
    }

    /// The refusals of what the account holder changes.
    ChangeRefusals {
        400: "`BAD_REQUEST`",
        401: "`UNAUTHORIZED`: the key is missing, unknown, expired or switched off.",
        403: "`FORBIDDEN`: the key has not the scope `admin`, or not for this domain; or the account has as\n\
        many domains as it may have.",
        404: "`NOT_FOUND`",
        408: "`REQUEST_TIMEOUT`: the body did not arrive in time.",
        409: "`CONFLICT`: there is one already, or it is a sandbox domain.",
        413: "`PAYLOAD_TOO_LARGE`",
        415: "`UNSUPPORTED_MEDIA_TYPE`: not JSON.",
        429: "`RATE_LIMITED`: too much under way, or too many failed logins.",
        500: "`INTERNAL`",
        503: "`UNAVAILABLE`: the policy or the store gives no answer, or the server is shutting down.",
    }

    /// The refusals of what an author changes.
    AuthorRefusals {
        400: "`BAD_REQUEST`: the fields, or the template itself: then `diagnostics` has part, line and column of each fault.",
        401: "`UNAUTHORIZED`: the key is missing, unknown, expired or switched off.",
        403: "`FORBIDDEN`: the key has not the scope `templates`, is a test key, or is for other templates; or there\n\
        are as many as there may be.",
        404: "`NOT_FOUND`",
        408: "`REQUEST_TIMEOUT`: the body did not arrive in time.",
        409: "`CONFLICT`: it was changed since it was read, or by others meanwhile, its name is taken, it is in use, or it would break senders:\n\
        then `breaking` says how.",
        413: "`PAYLOAD_TOO_LARGE`",
        415: "`UNSUPPORTED_MEDIA_TYPE`: not JSON.",
        429: "`RATE_LIMITED`: too much under way, or too many failed logins.",
        500: "`INTERNAL`",
        503: "`UNAVAILABLE`: the renderer or the store gives no answer, or the server is shutting down.",
    }

    /// The refusals of what an author only reads.
    AuthorReadRefusals {
        400: "`BAD_REQUEST`: the query.",
        401: "`UNAUTHORIZED`: the key is missing, unknown, expired or switched off.",
        403: "`FORBIDDEN`: the key has not the scope `templates`, or is for other templates.",
        404: "`NOT_FOUND`",
        429: "`RATE_LIMITED`: too many requests, or failed logins.",
        500: "`INTERNAL`",
        503: "`UNAVAILABLE`: the store gives no answer, or the server is shutting down.",
    }

    /// The refusals of what the account holder only reads.
    ReadRefusals {
        400: "`BAD_REQUEST`: the query, or the path.",
        401: "`UNAUTHORIZED`: the key is missing, unknown, expired or switched off.",
        403: "`FORBIDDEN`: the key has not the scope `admin`, or is for other domains or templates; or the\n\
        account is suspended.",
        404: "`NOT_FOUND`: the account has none of this name.",
        429: "`RATE_LIMITED`: too many requests, or failed logins.",
        500: "`INTERNAL`",
        503: "`UNAVAILABLE`: the store gives no answer, or the server is shutting down.",
    }

    /// The refusals of a message that cannot be canceled, or not be tried again.
    StateRefusals {
        400: "`BAD_REQUEST`: the path.",
        401: "`UNAUTHORIZED`: the key is missing, unknown, expired or switched off.",
        403: "`FORBIDDEN`: the key has not the scope `admin`, or is for other domains or templates; or the\n\
        account is suspended.",
        404: "`NOT_FOUND`: the account has no such message.",
        409: "`CONFLICT`: it is in a state in which that cannot be done; the message names it.",
        429: "`RATE_LIMITED`: too many failed logins.",
        500: "`INTERNAL`",
        503: "`UNAVAILABLE`: the store gives no answer, or the server is shutting down.",
    }

    /// The refusals of a message that is to be sent once more.
    ResendRefusals {
        400: "`BAD_REQUEST`: the path, or the Idempotency-Key.",
        401: "`UNAUTHORIZED`: the key is missing, unknown, expired or switched off.",
        402: "`INSUFFICIENT_BALANCE`: nothing was charged, nothing was stored.",
        403: "`DOMAIN_NOT_VERIFIED`, `RESTRICTED_TEMPLATE` or `FORBIDDEN`.",
        404: "`NOT_FOUND`: the account has no such message.",
        409: "`CONFLICT`: its content is no longer kept; or a request with this Idempotency-Key is running.",
        422: "`IDEMPOTENCY_CONFLICT`: the key was used for another request.",
        429: "`RATE_LIMITED`: see `Retry-After`.",
        500: "`INTERNAL`",
        503: "`UNAVAILABLE`: a plugin failed closed, the store is not reachable, or the server is shutting\n\
        down; see `Retry-After`.",
    }

    /// The refusals of what is made or changed of keys and accounts.
    KeyRefusals {
        400: "`BAD_REQUEST`: every value that is not of its type.",
        401: "`UNAUTHORIZED`: the key is missing, unknown, expired or switched off.",
        403: "`FORBIDDEN`: the key has not the scope, is a test key, or has less than it would give; or the account\n\
        is suspended.",
        404: "`NOT_FOUND`",
        408: "`REQUEST_TIMEOUT`: the body did not arrive in time.",
        409: "`CONFLICT`: the key is deactivated, is the dashboard's, or is that of the request and `force` is not given; the\n\
        account has as many keys as it may have, or is that of the key that would suspend it.",
        413: "`PAYLOAD_TOO_LARGE`",
        415: "`UNSUPPORTED_MEDIA_TYPE`: not JSON.",
        429: "`RATE_LIMITED`: too much under way, or too many failed logins.",
        500: "`INTERNAL`",
        503: "`UNAVAILABLE`: the store gives no answer, or the server is shutting down.",
    }

    /// The refusals of an address that is to get tests.
    TestRecipientRefusals {
        400: "`BAD_REQUEST`: the address, or the account has no sender of its own.",
        401: "`UNAUTHORIZED`: the key is missing, unknown, expired or switched off.",
        402: "`INSUFFICIENT_BALANCE`: the mail is charged as any other; the list is as it was.",
        403: "`FORBIDDEN`: the key has not the scope `admin`, is a test key, or is for some domains or templates only;\n\
        the list is full; or `DOMAIN_NOT_VERIFIED`, of the account's sender.",
        408: "`REQUEST_TIMEOUT`: the body did not arrive in time.",
        409: "`CONFLICT`: the address is on the account's suppression list.",
        413: "`PAYLOAD_TOO_LARGE`",
        415: "`UNSUPPORTED_MEDIA_TYPE`: not JSON.",
        429: "`RATE_LIMITED`: the account, or this address, was sent as many confirmation mails as a day allows; or too\n\
        many sends. See `Retry-After`.",
        500: "`INTERNAL`",
        503: "`UNAVAILABLE`: a plugin failed closed, the store is not reachable, or the server is shutting down.",
    }

    /// The refusals of a grant of credits.
    GrantRefusals {
        400: "`BAD_REQUEST`: all faults at once.",
        401: "`UNAUTHORIZED`: the key is missing, unknown, expired or switched off.",
        403: "`FORBIDDEN`: the key has not the scope `operator`.",
        404: "`NOT_FOUND`: there is no such account.",
        408: "`REQUEST_TIMEOUT`: the body did not arrive in time.",
        413: "`PAYLOAD_TOO_LARGE`",
        415: "`UNSUPPORTED_MEDIA_TYPE`: not JSON.",
        422: "`IDEMPOTENCY_CONFLICT`: the key was used for another grant to the account.",
        429: "`RATE_LIMITED`: too much under way, or too many failed logins.",
        500: "`INTERNAL`",
        503: "`UNAVAILABLE`: the store gives no answer, or the server is shutting down.",
    }

    /// The refusals of other settings of a plugin.
    SettingsRefusals {
        400: "`BAD_REQUEST`: what the plugin's schema says of the settings.",
        401: "`UNAUTHORIZED`: the key is missing, unknown, expired or switched off.",
        403: "`FORBIDDEN`: the key has not the scope `operator`.",
        404: "`NOT_FOUND`",
        408: "`REQUEST_TIMEOUT`: the body did not arrive in time.",
        409: "`CONFLICT`: the slot runs nothing that could have settings, or its file is not valid.",
        413: "`PAYLOAD_TOO_LARGE`",
        415: "`UNSUPPORTED_MEDIA_TYPE`: not JSON.",
        429: "`RATE_LIMITED`: too much under way, or too many failed logins.",
        500: "`INTERNAL`",
        503: "`UNAVAILABLE`: the store is not reachable, the file cannot be written, or the server is shutting down.",
    }

    /// The refusals of changes of users.
    UserRefusals {
        400: "`BAD_REQUEST`: all faults at once.",
        401: "`UNAUTHORIZED`: the key is missing, unknown, expired or switched off.",
        403: "`FORBIDDEN`: the key has not the scope `operator`.",
        404: "`NOT_FOUND`: there is no such user, or no such account.",
        408: "`REQUEST_TIMEOUT`: the body did not arrive in time.",
        409: "`CONFLICT`: there is a user with this address already, or it is the last owner of the account who can log in.",
        413: "`PAYLOAD_TOO_LARGE`",
        415: "`UNSUPPORTED_MEDIA_TYPE`: not JSON.",
        429: "`RATE_LIMITED`: too much under way, or too many failed logins.",
        500: "`INTERNAL`",
        503: "`UNAVAILABLE`: the store gives no answer, or the server is shutting down.",
    }

    /// The refusals of changes of the people of an account.
    TeamRefusals {
        400: "`BAD_REQUEST`: all faults at once.",
        401: "`UNAUTHORIZED`: the key is missing, unknown, expired or switched off.",
        403: "`FORBIDDEN`: the key has not the scope `admin`, is a test key, or is for some domains or templates only;\n\
        or the account is suspended.",
        404: "`NOT_FOUND`: there is nobody like this in the account.",
        408: "`REQUEST_TIMEOUT`: the body did not arrive in time.",
        409: "`CONFLICT`: the person is in the account already, is its last owner who can log in, or may not come into a\n\
        further account; or the account is full.",
        413: "`PAYLOAD_TOO_LARGE`",
        415: "`UNSUPPORTED_MEDIA_TYPE`: not JSON.",
        429: "`RATE_LIMITED`: as many invitations as there may be, too much under way, or too many failed logins.",
        500: "`INTERNAL`",
        503: "`UNAVAILABLE`: the store gives no answer, or the server is shutting down.",
    }

    /// The refusals of the removal of a user.
    RemoveUserRefusals {
        400: "`BAD_REQUEST`: the path.",
        401: "`UNAUTHORIZED`: the key is missing, unknown, expired or switched off.",
        403: "`FORBIDDEN`: the key has not the scope `operator`.",
        404: "`NOT_FOUND`: there is no such user.",
        409: "`CONFLICT`: the user is the last owner who can log in of the accounts that the message names.",
        429: "`RATE_LIMITED`: too many failed logins.",
        500: "`INTERNAL`",
        503: "`UNAVAILABLE`: the store gives no answer, or the server is shutting down.",
    }

    /// The refusals of the deletion of an account.
    DeletionRefusals {
        400: "`BAD_REQUEST`: the path.",
        401: "`UNAUTHORIZED`: the key is missing, unknown, expired or switched off.",
        403: "`FORBIDDEN`: the key has not the scope `operator`.",
        404: "`NOT_FOUND`: there is no such account.",
        409: "`CONFLICT`: the account is active; suspend it first.",
        429: "`RATE_LIMITED`: too many failed logins.",
        500: "`INTERNAL`",
        503: "`UNAVAILABLE`: the store gives no answer, or the server is shutting down.",
    }

    /// The refusals of what the operator only reads.
    OperatorReadRefusals {
        400: "`BAD_REQUEST`: the query, or the path.",
        401: "`UNAUTHORIZED`: the key is missing, unknown, expired or switched off.",
        403: "`FORBIDDEN`: the key has not the scope `operator`.",
        404: "`NOT_FOUND`",
        429: "`RATE_LIMITED`: too many requests, or failed logins.",
        500: "`INTERNAL`",
        503: "`UNAVAILABLE`: the store is not reachable, or the server is shutting down.",
    }

    /// The refusals of read-only mode.
    MaintenanceRefusals {
        400: "`BAD_REQUEST`: all faults at once.",
        401: "`UNAUTHORIZED`: the key is missing, unknown, expired or switched off.",
        403: "`FORBIDDEN`: the key has not the scope `operator`.",
        408: "`REQUEST_TIMEOUT`: the body did not arrive in time.",
        413: "`PAYLOAD_TOO_LARGE`",
        415: "`UNSUPPORTED_MEDIA_TYPE`: not JSON.",
        429: "`RATE_LIMITED`: too much under way, or too many failed logins.",
        500: "`INTERNAL`",
        503: "`UNAVAILABLE`: the store gives no answer, or the server is shutting down.",
    }

    /// The refusals of the operator's orders.
    OperatorChangeRefusals {
        400: "`BAD_REQUEST`",
        401: "`UNAUTHORIZED`: the key is missing, unknown, expired or switched off.",
        403: "`FORBIDDEN`: the key has not the scope `operator`.",
        404: "`NOT_FOUND`",
        408: "`REQUEST_TIMEOUT`: the body did not arrive in time.",
        409: "`CONFLICT`: nothing to activate, to roll back or to shadow.",
        413: "`PAYLOAD_TOO_LARGE`",
        429: "`RATE_LIMITED`: too many failed logins.",
        500: "`INTERNAL`",
        503: "`UNAVAILABLE`: the store is not reachable, or the server is shutting down.",
    }
}

fn problem(about: &str) -> RefOr<Response> {
    let schema = Ref::from_schema_name(Problem::name());
    let content = ContentBuilder::new().schema(Some(schema)).build();
    let response = ResponseBuilder::new().description(about);
    response.content("application/problem+json", content).build().into()
}
