//! The time that answers may take, wherever somebody asks: by the clock of the system, or by that of a browser.

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use std::time::Instant;

#[cfg(target_arch = "wasm32")]
pub(crate) use browser::Instant;
#[cfg(target_arch = "wasm32")]
pub use browser::set;

#[cfg(target_arch = "wasm32")]
mod browser {
    use std::cell::Cell;
    use std::time::Duration;

    thread_local! {
        /// What the milliseconds are now.
        static NOW: Cell<fn() -> f64> = const { Cell::new(|| 0.0) };
    }

    /// Says who knows the time, in milliseconds since whenever.
    pub fn set(now: fn() -> f64) {
        NOW.set(now);
    }

    /// A moment, as that of the standard library, which has no clock here.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Instant(f64);

    impl Instant {
        pub(crate) fn now() -> Self {
            Self(NOW.get()())
        }

        pub(crate) fn elapsed(self) -> Duration {
            Duration::from_secs_f64((Self::now().0 - self.0).max(0.0) / 1000.0)
        }
    }
}
