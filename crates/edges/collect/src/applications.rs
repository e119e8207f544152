//! The applications, one file each.

mod auction;
mod courseware;
mod smallbank;
mod tpcc;
mod twitter;
mod voter;
mod wikipedia;

use crate::Application;

/// Every application.
pub const APPLICATIONS: [&dyn Application; 8] = [
    &smallbank::Smallbank::TRANSFERS,
    &smallbank::Smallbank::FULL,
    &voter::Voter,
    &tpcc::Tpcc,
    &wikipedia::Wikipedia,
    &courseware::Courseware,
    &twitter::Twitter,
    &auction::Auction,
];

/// The application of that name.
pub fn application(name: &str) -> Option<&'static dyn Application> {
    let wanted = name.to_ascii_lowercase().replace('_', "-");
    APPLICATIONS.into_iter().find(|it| it.name() == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for app in APPLICATIONS {
            assert_eq!(application(&app.name().to_uppercase()).map(Application::name), Some(app.name()));
        }
        assert!(application("petstore").is_none());
    }
}
