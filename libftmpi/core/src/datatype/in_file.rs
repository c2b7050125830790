//! Datatypes as they are in a file whose values have other sizes than in memory: `external32`
//! (MPI-4.1, 14.5.2) and representations of the program (14.5.3).
//!
//! Guarantees: the displacements of a *portable* type are scaled, so that in the file it means the
//! same values. (Portable types are made by counting in whole values: contiguous, vector, indexed,
//! subarray, darray and others.) Displacements in bytes (hvector, hindexed, struct, resized) are
//! taken as given, as the standard says: the program found them with `MPI_File_get_type_extent`.
//! Where all values have the size that they have in memory, the type is the same in both.

use super::{Builtin, Constructor, Datatype, DistributedArray, Signature};
use crate::bail;
use crate::error::Result;

/// Gives the bytes of a predefined type in the file.
pub type Sizes<'a> = &'a mut dyn FnMut(Builtin) -> Result<u64>;

impl Datatype {
    /// Bytes of one value in the stream of a file. Sizes beyond any file saturate.
    pub fn size_in_file(&self, sizes: Sizes) -> Result<u64> {
        if self.size() == 0 {
            return Ok(0);
        }
        if let Some(builtin) = self.base() {
            let values = self.size() / Datatype::builtin(builtin).size();
            return Ok(sizes(builtin)?.saturating_mul(values));
        }
        if let Constructor::Struct { blocklengths, types, .. } = self.constructor() {
            let mut sum = 0u64;
            for (&blocklength, member) in blocklengths.iter().zip(types.iter()) {
                let bytes = member.size_in_file(sizes)?.saturating_mul(blocklength as u64);
                sum = sum.saturating_add(bytes);
            }
            return Ok(sum);
        }
        match self.constructor().element_type() {
            Some(element) if element.size() > 0 => {
                let each = element.size_in_file(sizes)?;
                Ok(each.saturating_mul(self.size() / element.size()))
            }
            _ => bail!(Type, "the datatype has no representation in files"),
        }
    }

    /// Whether all of its values have the same size in the file as in memory.
    pub(crate) fn is_same_in_file(&self, sizes: Sizes) -> Result<bool> {
        if let Signature::Homogeneous(builtin) = self.signature() {
            return Ok(sizes(builtin)? == Datatype::builtin(builtin).size());
        }
        if let Constructor::Struct { types, .. } = self.constructor() {
            for member in types.iter() {
                if !member.is_same_in_file(sizes)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        match self.constructor().element_type() {
            Some(element) => element.is_same_in_file(sizes),
            None => Ok(true),
        }
    }

    /// The type as it is in the file, in bytes.
    pub fn in_file(&self, sizes: Sizes) -> Result<Datatype> {
        if self.is_same_in_file(sizes)? { Ok(self.clone()) } else { self.in_bytes_of_file(sizes) }
    }

    /// The same without any alignment: a structure ends there where its last value does.
    fn in_bytes_of_file(&self, sizes: Sizes) -> Result<Datatype> {
        match self.constructor() {
            Constructor::Named(base)
            | Constructor::F90Real { base, .. }
            | Constructor::F90Complex { base, .. }
            | Constructor::F90Integer { base, .. } => {
                let bytes = sizes(*base)? as i64;
                Datatype::contiguous(bytes, Datatype::builtin(Builtin::Byte))
            }
            Constructor::Dup(element) => element.in_bytes_of_file(sizes),
            Constructor::Contiguous { count, element } => {
                Datatype::contiguous(*count, &element.in_bytes_of_file(sizes)?)
            }
            Constructor::Vector { count, blocklength, stride, element } => {
                Datatype::vector(*count, *blocklength, *stride, &element.in_bytes_of_file(sizes)?)
            }
            Constructor::Hvector { count, blocklength, stride, element } => {
                Datatype::hvector(*count, *blocklength, *stride, &element.in_bytes_of_file(sizes)?)
            }
            Constructor::Indexed { blocklengths, displacements, element } => {
                Datatype::indexed(blocklengths, displacements, &element.in_bytes_of_file(sizes)?)
            }
            Constructor::Hindexed { blocklengths, displacements, element } => {
                Datatype::hindexed(blocklengths, displacements, &element.in_bytes_of_file(sizes)?)
            }
            Constructor::IndexedBlock { blocklength, displacements, element } => {
                Datatype::indexed_block(
                    *blocklength,
                    displacements,
                    &element.in_bytes_of_file(sizes)?,
                )
            }
            Constructor::HindexedBlock { blocklength, displacements, element } => {
                Datatype::hindexed_block(
                    *blocklength,
                    displacements,
                    &element.in_bytes_of_file(sizes)?,
                )
            }
            Constructor::Struct { blocklengths, displacements, types } => {
                let members: Result<Vec<_>> =
                    types.iter().map(|t| t.in_bytes_of_file(sizes)).collect();
                Datatype::structure(blocklengths, displacements, &members?)
            }
            Constructor::Subarray { sizes: of, subsizes, starts, order, element } => {
                Datatype::subarray(of, subsizes, starts, *order, &element.in_bytes_of_file(sizes)?)
            }
            Constructor::Darray {
                size,
                rank,
                gsizes,
                distributions,
                arguments,
                psizes,
                order,
                element,
            } => {
                let element = element.in_bytes_of_file(sizes)?;
                Datatype::darray(
                    DistributedArray {
                        size: *size,
                        rank: *rank,
                        gsizes,
                        distributions,
                        arguments,
                        psizes,
                        order: *order,
                    },
                    &element,
                )
            }
            Constructor::Resized { lb, extent, element } => {
                Datatype::resized(*lb, *extent, &element.in_bytes_of_file(sizes)?)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn t(builtin: Builtin) -> Datatype {
        Datatype::builtin(builtin).clone()
    }

    fn external(builtin: Builtin) -> Result<u64> {
        Datatype::builtin(builtin).external_size(1)
    }

    #[test]
    fn portable_types_are_scaled() {
        let long = t(Builtin::Long);
        let vector = Datatype::vector(3, 2, 4, &long).unwrap();
        let seen = vector.in_file(&mut external).unwrap();
        assert_eq!((vector.size(), vector.extent()), (48, 80));
        assert_eq!((seen.size(), seen.extent()), (24, 40));
        let third = Datatype::resized(0, 12, &long).unwrap().in_file(&mut external).unwrap();
        assert_eq!((third.extent(), third.size()), (12, 4), "bytes are those of the file");
    }

    #[test]
    fn structures_keep_their_places_and_what_has_its_size_keeps_its_shape() {
        let types = [t(Builtin::Double), t(Builtin::Int)];
        let plain = Datatype::structure(&[1, 2], &[0, 8], &types).unwrap();
        assert!(plain.in_file(&mut external).unwrap().is_same(&plain));
        let types = [t(Builtin::Long), t(Builtin::Double)];
        let mixed = Datatype::structure(&[2, 1], &[0, 8], &types).unwrap();
        let seen = mixed.in_file(&mut external).unwrap();
        assert_eq!(
            (seen.size(), seen.extent(), mixed.size_in_file(&mut external).unwrap()),
            (16, 16, 16)
        );
    }
}
