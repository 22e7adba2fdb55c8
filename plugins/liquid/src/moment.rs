//! A point in time by the clocks of an offset, in the proleptic Gregorian calendar.

use crate::locale::LocalTime;

/// A point in time with the offset that it is shown in.
pub struct Moment {
    unix: i64,
    nanos: u32,
    offset: i64,
    year: i64,
    month: i64,
    day: i64,
    has_time: bool,
    /// What the time zone is called then.
    zone: Option<String>,
}

impl Moment {
    pub fn at(unix: i64, nanos: u32, offset: i64) -> Self {
        let unix = unix.clamp(-62_167_219_200, 31_556_889_864_403_199);
        let (year, month, day) = civil_from_days((unix + offset).div_euclid(86_400));
        Self { unix, nanos, offset, year, month, day, has_time: true, zone: None }
    }

    /// A date alone.
    pub fn without_time(self) -> Self {
        Self { has_time: false, ..self }
    }

    /// The same point in time by other clocks.
    pub fn in_zone(self, local: LocalTime) -> Self {
        let zone = Some(local.name).filter(|it| it.starts_with(|c: char| c.is_alphabetic()));
        Self { zone, ..Self::at(self.unix, self.nanos, local.offset) }
    }

    /// Whether a time of the day was given.
    pub const fn has_time(&self) -> bool {
        self.has_time
    }

    pub const fn unix(&self) -> i64 {
        self.unix
    }

    /// Nanoseconds of the second.
    pub const fn nanos(&self) -> u32 {
        self.nanos
    }

    /// What the time zone is called then, where it has a name.
    pub fn zone(&self) -> Option<&str> {
        self.zone.as_deref()
    }

    /// Seconds east of Greenwich.
    pub const fn offset(&self) -> i64 {
        self.offset
    }

    pub const fn year(&self) -> i64 {
        self.year
    }

    pub const fn month(&self) -> i64 {
        self.month
    }

    pub const fn day(&self) -> i64 {
        self.day
    }

    const fn second_of_day(&self) -> i64 {
        (self.unix + self.offset).rem_euclid(86_400)
    }

    pub const fn hour(&self) -> i64 {
        self.second_of_day() / 3600
    }

    pub const fn minute(&self) -> i64 {
        self.second_of_day() / 60 % 60
    }

    pub const fn second(&self) -> i64 {
        self.second_of_day() % 60
    }

    pub const fn hour12(&self) -> i64 {
        (self.hour() + 11) % 12 + 1
    }

    /// 0 is Sunday.
    pub const fn weekday(&self) -> i64 {
        ((self.unix + self.offset).div_euclid(86_400) + 4).rem_euclid(7)
    }

    /// 1 is the first of January.
    pub fn year_day(&self) -> i64 {
        days_from_civil(self.year, self.month, self.day) - days_from_civil(self.year, 1, 1) + 1
    }

    /// The week-numbering year of ISO 8601 and the week in it, from 1.
    pub fn iso_week(&self) -> (i64, i64) {
        let from_monday = (self.weekday() + 6) % 7;
        let thursday = (self.unix + self.offset).div_euclid(86_400) - from_monday + 3;
        let (year, ..) = civil_from_days(thursday);
        (year, (thursday - days_from_civil(year, 1, 1)) / 7 + 1)
    }
}

/// Days since 1970-01-01 (Howard Hinnant's `days_from_civil`).
pub const fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Year, month and day of a number of days since 1970-01-01.
const fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day = days.rem_euclid(146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + (month <= 2) as i64, month, day)
}
