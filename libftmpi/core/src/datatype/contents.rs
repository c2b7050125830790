//! The arguments of a type constructor, for `MPI_Type_get_envelope` and `MPI_Type_get_contents`
//! (MPI-3.1, 4.1.13).

use super::{Builtin, Datatype, Distribution, Order};
use std::sync::Arc;

/// Which call made a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Combiner {
    Named,
    Dup,
    Contiguous,
    Vector,
    Hvector,
    Indexed,
    Hindexed,
    IndexedBlock,
    HindexedBlock,
    Struct,
    Subarray,
    Darray,
    F90Real,
    F90Complex,
    F90Integer,
    Resized,
}

/// The arguments of the call that made a type. Counts and displacements are wide enough for both
/// the `int` and the large-count calls; the numbers were checked by the constructor.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub enum Constructor {
    Named(Builtin),
    Dup(Datatype),
    Contiguous {
        count: i64,
        element: Datatype,
    },
    Vector {
        count: i64,
        blocklength: i64,
        stride: i64,
        element: Datatype,
    },
    Hvector {
        count: i64,
        blocklength: i64,
        stride: i64,
        element: Datatype,
    },
    Indexed {
        blocklengths: Arc<[i64]>,
        displacements: Arc<[i64]>,
        element: Datatype,
    },
    Hindexed {
        blocklengths: Arc<[i64]>,
        displacements: Arc<[i64]>,
        element: Datatype,
    },
    IndexedBlock {
        blocklength: i64,
        displacements: Arc<[i64]>,
        element: Datatype,
    },
    HindexedBlock {
        blocklength: i64,
        displacements: Arc<[i64]>,
        element: Datatype,
    },
    Struct {
        blocklengths: Arc<[i64]>,
        displacements: Arc<[i64]>,
        types: Arc<[Datatype]>,
    },
    Subarray {
        sizes: Arc<[i64]>,
        subsizes: Arc<[i64]>,
        starts: Arc<[i64]>,
        order: Order,
        element: Datatype,
    },
    Darray {
        size: i64,
        rank: i64,
        gsizes: Arc<[i64]>,
        distributions: Arc<[Distribution]>,
        arguments: Arc<[i64]>,
        psizes: Arc<[i64]>,
        order: Order,
        element: Datatype,
    },
    F90Real {
        precision: i64,
        range: i64,
        base: Builtin,
    },
    F90Complex {
        precision: i64,
        range: i64,
        base: Builtin,
    },
    F90Integer {
        range: i64,
        base: Builtin,
    },
    Resized {
        lb: i64,
        extent: i64,
        element: Datatype,
    },
}

/// The arguments as `MPI_Type_get_contents` lists them.
///
/// `integers` and `addresses` are in the order of the standard for the `int` calls. Orders and
/// distributions stand in `integers` as numbers of the ABI, from the functions `order` and
/// `distribution` that [`Constructor::contents`] gets.
#[derive(Debug, Clone, Default)]
pub struct Contents {
    /// Integer arguments.
    pub integers: Vec<i64>,
    /// Address arguments.
    pub addresses: Vec<i64>,
    /// Counts and displacements of a call with large counts (MPI-4.1, 5.1.13).
    pub counts: Vec<i64>,
    /// Datatype arguments.
    pub types: Vec<Datatype>,
}

impl Contents {
    /// The form of the `_c` constructors.
    fn as_large(&mut self, combiner: Combiner) {
        let integers = std::mem::take(&mut self.integers);
        match combiner {
            // The number of dimensions and the order stay integers.
            Combiner::Subarray => {
                self.integers = vec![integers[0], integers[integers.len() - 1]];
                self.counts = integers[1..integers.len() - 1].to_vec();
            }
            // Only the sizes of the array are counts.
            Combiner::Darray => {
                let sizes = 3..3 + integers[2] as usize;
                self.counts = integers[sizes.clone()].to_vec();
                self.integers = [&integers[..sizes.start], &integers[sizes.end..]].concat();
            }
            _ => {
                self.counts = integers;
                self.counts.append(&mut self.addresses);
            }
        }
    }
}

impl Constructor {
    /// Which call made the type.
    #[must_use]
    pub fn combiner(&self) -> Combiner {
        match self {
            Self::Named(_) => Combiner::Named,
            Self::Dup(_) => Combiner::Dup,
            Self::Contiguous { .. } => Combiner::Contiguous,
            Self::Vector { .. } => Combiner::Vector,
            Self::Hvector { .. } => Combiner::Hvector,
            Self::Indexed { .. } => Combiner::Indexed,
            Self::Hindexed { .. } => Combiner::Hindexed,
            Self::IndexedBlock { .. } => Combiner::IndexedBlock,
            Self::HindexedBlock { .. } => Combiner::HindexedBlock,
            Self::Struct { .. } => Combiner::Struct,
            Self::Subarray { .. } => Combiner::Subarray,
            Self::Darray { .. } => Combiner::Darray,
            Self::F90Real { .. } => Combiner::F90Real,
            Self::F90Complex { .. } => Combiner::F90Complex,
            Self::F90Integer { .. } => Combiner::F90Integer,
            Self::Resized { .. } => Combiner::Resized,
        }
    }

    /// The one type that all data of this one is made of, if there is just one.
    pub(super) fn element_type(&self) -> Option<&Datatype> {
        match self {
            Self::Named(_) | Self::Struct { .. } => None,
            Self::F90Real { base, .. }
            | Self::F90Complex { base, .. }
            | Self::F90Integer { base, .. } => Some(Datatype::builtin(*base)),
            Self::Dup(element)
            | Self::Contiguous { element, .. }
            | Self::Vector { element, .. }
            | Self::Hvector { element, .. }
            | Self::Indexed { element, .. }
            | Self::Hindexed { element, .. }
            | Self::IndexedBlock { element, .. }
            | Self::HindexedBlock { element, .. }
            | Self::Subarray { element, .. }
            | Self::Darray { element, .. }
            | Self::Resized { element, .. } => Some(element),
        }
    }

    /// The arguments as lists, in the form of the calls with large counts if `large`. `order` and
    /// `distribution` translate those two enums into the numbers of the ABI.
    #[must_use]
    pub fn contents(
        &self,
        large: bool,
        order_number: impl Fn(Order) -> i64,
        distribution_number: impl Fn(Distribution) -> i64,
    ) -> Contents {
        let mut c = Contents::default();
        match self {
            Self::Named(_) => {}
            Self::Dup(element) => c.types.push(element.clone()),
            Self::Contiguous { count, element } => {
                c.integers.push(*count);
                c.types.push(element.clone());
            }
            Self::Vector { count, blocklength, stride, element } => {
                c.integers.extend([*count, *blocklength, *stride]);
                c.types.push(element.clone());
            }
            Self::Hvector { count, blocklength, stride, element } => {
                c.integers.extend([*count, *blocklength]);
                c.addresses.push(*stride);
                c.types.push(element.clone());
            }
            Self::Indexed { blocklengths, displacements, element } => {
                c.integers.push(blocklengths.len() as i64);
                c.integers.extend_from_slice(blocklengths);
                c.integers.extend_from_slice(displacements);
                c.types.push(element.clone());
            }
            Self::Hindexed { blocklengths, displacements, element } => {
                c.integers.push(blocklengths.len() as i64);
                c.integers.extend_from_slice(blocklengths);
                c.addresses.extend_from_slice(displacements);
                c.types.push(element.clone());
            }
            Self::IndexedBlock { blocklength, displacements, element } => {
                c.integers.extend([displacements.len() as i64, *blocklength]);
                c.integers.extend_from_slice(displacements);
                c.types.push(element.clone());
            }
            Self::HindexedBlock { blocklength, displacements, element } => {
                c.integers.extend([displacements.len() as i64, *blocklength]);
                c.addresses.extend_from_slice(displacements);
                c.types.push(element.clone());
            }
            Self::Struct { blocklengths, displacements, types } => {
                c.integers.push(blocklengths.len() as i64);
                c.integers.extend_from_slice(blocklengths);
                c.addresses.extend_from_slice(displacements);
                c.types.extend_from_slice(types);
            }
            Self::Subarray { sizes, subsizes, starts, order, element } => {
                c.integers.push(sizes.len() as i64);
                c.integers.extend_from_slice(sizes);
                c.integers.extend_from_slice(subsizes);
                c.integers.extend_from_slice(starts);
                c.integers.push(order_number(*order));
                c.types.push(element.clone());
            }
            Self::Darray {
                size,
                rank,
                gsizes,
                distributions,
                arguments,
                psizes,
                order,
                element,
            } => {
                c.integers.extend([*size, *rank, gsizes.len() as i64]);
                c.integers.extend_from_slice(gsizes);
                c.integers.extend(distributions.iter().map(|d| distribution_number(*d)));
                c.integers.extend_from_slice(arguments);
                c.integers.extend_from_slice(psizes);
                c.integers.push(order_number(*order));
                c.types.push(element.clone());
            }
            Self::F90Real { precision, range, .. } | Self::F90Complex { precision, range, .. } => {
                c.integers.extend([*precision, *range]);
            }
            Self::F90Integer { range, .. } => c.integers.push(*range),
            Self::Resized { lb, extent, element } => {
                c.addresses.extend([*lb, *extent]);
                c.types.push(element.clone());
            }
        }
        if large {
            c.as_large(self.combiner());
        }
        c
    }
}
