//! Delivery over hours and days, with everything that goes wrong on the way: a real queue, the real
//! worker, servers that misbehave on loopback, and a clock that is moved by hand.

mod backlog;
mod fixture;
mod direct;
mod encryption;
mod fairness;
mod hold;
mod limits;
mod outages;
mod recovery;
mod smarthosts;
mod time;
mod verdicts;
mod why;
