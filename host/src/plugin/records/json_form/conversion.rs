//! From the interface's types to their JSON form and back.

/// The JSON form of a type of the interface.
pub trait JsonForm: Sized {
    /// The interface's type.
    type Of;
    /// From the interface's type.
    fn of(it: Self::Of) -> Self;
    /// To the interface's type.
    fn back(self) -> Self::Of;
}

macro_rules! plain {
    ($($name:ty),*) => {$(
        impl JsonForm for $name {
            type Of = Self;

            fn of(it: Self) -> Self {
                it
            }

            fn back(self) -> Self {
                self
            }
        }
    )*};
}

plain!(String, bool, u32, u64, i64);

impl<T: JsonForm> JsonForm for Option<T> {
    type Of = Option<T::Of>;

    fn of(it: Self::Of) -> Self {
        it.map(T::of)
    }

    fn back(self) -> Self::Of {
        self.map(T::back)
    }
}

impl<T: JsonForm> JsonForm for Vec<T> {
    type Of = Vec<T::Of>;

    fn of(it: Self::Of) -> Self {
        it.into_iter().map(T::of).collect()
    }

    fn back(self) -> Self::Of {
        self.into_iter().map(T::back).collect()
    }
}
