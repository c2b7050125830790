//! What binds an image to a host: the instructions of its processor, and the contents of its vDSO.
//!
//! Guarantee: the boot library and the launcher get the same values from here, and the same answer
//! whether a processor fits an image. The boot library takes and restores images; the launcher
//! compares hosts before it starts a job.
//!
//! A program and the C library choose their code by the instructions of the host that they start
//! on. So an image fits a processor that has all of them. More instructions do no harm: nothing
//! looks for them again. Bits of CPUID that no code of a program depends on (mitigations,
//! virtualisation, speed of a copy) are left out. The size of saved registers is another matter:
//! signal frames and the C library's lazy binding keep it, so XCR0 and the places in the XSAVE area
//! must be the same. One case is different: a processor that saves more behind the same begin
//! ([`saves_more`]).
#![allow(unsafe_code)]

use crate::stream::{FEATURE_WORDS, Hash, Processor};
use core::arch::x86_64::__cpuid_count as cpuid;

/// Instructions that programs use: their bits in the words of [`Processor::features`], and their
/// names as `/proc/cpuinfo` has them (Intel SDM volume 2A, CPUID; AMD APM volume 3, appendix E).
const INSTRUCTIONS: [&[(u32, &str)]; FEATURE_WORDS] = [
    // Leaf 1, ecx.
    &[
        (0, "sse3"),
        (1, "pclmulqdq"),
        (9, "ssse3"),
        (12, "fma"),
        (13, "cx16"),
        (19, "sse4_1"),
        (20, "sse4_2"),
        (22, "movbe"),
        (23, "popcnt"),
        (25, "aes"),
        (26, "xsave"),
        (27, "osxsave"),
        (28, "avx"),
        (29, "f16c"),
        (30, "rdrand"),
    ],
    // Leaf 1, edx.
    &[
        (0, "fpu"),
        (4, "tsc"),
        (8, "cx8"),
        (15, "cmov"),
        (19, "clflush"),
        (23, "mmx"),
        (24, "fxsr"),
        (25, "sse"),
        (26, "sse2"),
    ],
    // Leaf 7.0, ebx.
    &[
        (0, "fsgsbase"),
        (3, "bmi1"),
        (4, "hle"),
        (5, "avx2"),
        (8, "bmi2"),
        (11, "rtm"),
        (16, "avx512f"),
        (17, "avx512dq"),
        (18, "rdseed"),
        (19, "adx"),
        (21, "avx512ifma"),
        (23, "clflushopt"),
        (24, "clwb"),
        (26, "avx512pf"),
        (27, "avx512er"),
        (28, "avx512cd"),
        (29, "sha_ni"),
        (30, "avx512bw"),
        (31, "avx512vl"),
    ],
    // Leaf 7.0, ecx.
    &[
        (1, "avx512vbmi"),
        (3, "pku"),
        (4, "ospke"),
        (5, "waitpkg"),
        (6, "avx512_vbmi2"),
        (8, "gfni"),
        (9, "vaes"),
        (10, "vpclmulqdq"),
        (11, "avx512_vnni"),
        (12, "avx512_bitalg"),
        (14, "avx512_vpopcntdq"),
        (22, "rdpid"),
        (27, "movdiri"),
        (28, "movdir64b"),
        (29, "enqcmd"),
    ],
    // Leaf 7.0, edx.
    &[
        (2, "avx512_4vnniw"),
        (3, "avx512_4fmaps"),
        (5, "uintr"),
        (8, "avx512_vp2intersect"),
        (14, "serialize"),
        (22, "amx_bf16"),
        (23, "avx512_fp16"),
        (24, "amx_tile"),
        (25, "amx_int8"),
    ],
    // Leaf 7.1, eax.
    &[
        (0, "sha512"),
        (1, "sm3"),
        (2, "sm4"),
        (4, "avx_vnni"),
        (5, "avx512_bf16"),
        (7, "cmpccxadd"),
        (21, "amx_fp16"),
        (23, "avx_ifma"),
    ],
    // Leaf 0x80000001, ecx.
    &[
        (0, "lahf_lm"),
        (5, "abm"),
        (6, "sse4a"),
        (8, "3dnowprefetch"),
        (11, "xop"),
        (15, "lwp"),
        (16, "fma4"),
        (21, "tbm"),
        (29, "mwaitx"),
    ],
    // Leaf 0x80000001, edx.
    &[(11, "syscall"), (22, "mmxext"), (27, "rdtscp"), (29, "lm"), (30, "3dnowext"), (31, "3dnow")],
    // Leaf 0xd.1, eax.
    &[(0, "xsaveopt"), (1, "xsavec"), (2, "xgetbv1")],
    // Leaf 7.1, edx.
    &[
        (4, "avx_vnni_int8"),
        (5, "avx_ne_convert"),
        (8, "amx_complex"),
        (10, "avx_vnni_int16"),
        (14, "prefetchi"),
        (19, "avx10"),
        (21, "apx_f"),
    ],
    // Leaf 0x80000008, ebx.
    &[(0, "clzero"), (4, "rdpru"), (8, "mcommit")],
    // Leaf 0x80000021, eax.
    &[(20, "prefetchi_amd")],
];

/// The bits of a word that are instructions of programs.
const fn used_bits(word: usize) -> u32 {
    let (mut bits, mut at) = (0, 0);
    while at < INSTRUCTIONS[word].len() {
        bits |= 1 << INSTRUCTIONS[word][at].0;
        at += 1;
    }
    bits
}

/// The variable by which a rank learns which instructions it counts on: its baseline.
pub const BASELINE_ENV: &str = "FTMPI_CPU_BASELINE";

/// Hexadecimal digits of a word of [`BASELINE_ENV`].
const WORD_DIGITS: usize = 8;

/// Instructions that no baseline leaves out. Compiled code and this library use those of x86-64-v3
/// without a question, and the dynamic linker saves registers by the last ones. `lzcnt` and `tzcnt`
/// (`abm`, `bmi1`) compute something else where they are missing; all others end the process there.
const ESSENTIAL: &[&str] = &[
    "sse3", "ssse3", "fma", "cx16", "sse4_1", "sse4_2", "movbe", "popcnt", "xsave", "osxsave",
    "avx", "f16c", "fpu", "tsc", "cx8", "cmov", "clflush", "mmx", "fxsr", "sse", "sse2",
    "fsgsbase", "bmi1", "avx2", "bmi2", "lahf_lm", "abm", "syscall", "rdtscp", "lm", "xsaveopt",
    "xsavec", "xgetbv1",
];

/// The instructions of these names, as [`Processor::features`].
#[must_use]
pub fn features_of(names: &[&str]) -> [u32; FEATURE_WORDS] {
    core::array::from_fn(|word| {
        let named = INSTRUCTIONS[word].iter().filter(|(_, name)| names.contains(name));
        named.fold(0, |bits, (bit, _)| bits | 1 << bit)
    })
}

/// What ranks count on if they run on these hosts: instructions that all of them have, and those
/// that no baseline leaves out.
#[must_use]
pub fn baseline(hosts: &[[u32; FEATURE_WORDS]]) -> [u32; FEATURE_WORDS] {
    let essential = features_of(ESSENTIAL);
    core::array::from_fn(|word| {
        hosts.iter().fold(!0, |common, host| common & host[word]) | essential[word]
    })
}

/// The value of [`BASELINE_ENV`].
#[must_use]
pub fn parse_baseline(text: &[u8]) -> Option<[u32; FEATURE_WORDS]> {
    let mut words = [0; FEATURE_WORDS];
    if text.len() != WORD_DIGITS * FEATURE_WORDS {
        return None;
    }
    for (word, digits) in words.iter_mut().zip(text.chunks_exact(WORD_DIGITS)) {
        *word = u32::from_str_radix(core::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(words)
}

/// Parts of the XSAVE area.
const XSAVE_PARTS: u32 = 63;

/// The kind of processor of this host.
#[must_use]
pub fn processor() -> Processor {
    let (one, seven, seven_one) = (cpuid(1, 0), cpuid(7, 0), cpuid(7, 1));
    let (extended, xsave) = (cpuid(0x8000_0001, 0), cpuid(0xd, 1));
    let beyond = |leaf| if cpuid(0x8000_0000, 0).eax >= leaf { Some(cpuid(leaf, 0)) } else { None };
    let mut features = [
        one.ecx,
        one.edx,
        seven.ebx,
        seven.ecx,
        seven.edx,
        seven_one.eax,
        extended.ecx,
        extended.edx,
        xsave.eax,
        seven_one.edx,
        beyond(0x8000_0008).map_or(0, |found| found.ebx),
        beyond(0x8000_0021).map_or(0, |found| found.eax),
    ];
    for (at, word) in features.iter_mut().enumerate() {
        *word &= used_bits(at);
    }
    let mut found = Processor { features, ..Processor::default() };
    const OSXSAVE: u32 = 1 << 27;
    if one.ecx & OSXSAVE != 0 {
        let (low, high): (u32, u32);
        // SAFETY: OSXSAVE says that the instruction exists; register 0 always exists.
        unsafe {
            core::arch::asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high, options(nomem, nostack));
        }
        found.xcr0 = u64::from(low) | u64::from(high) << 32;
        found.xsave_len = u64::from(cpuid(0xd, 0).ebx);
        let mut layout = Hash::new();
        for part in (2..XSAVE_PARTS).filter(|part| found.xcr0 >> part & 1 != 0) {
            let place = cpuid(0xd, part);
            for word in [part, place.eax, place.ebx, place.ecx] {
                layout = layout.with(&word.to_le_bytes());
            }
        }
        found.xsave_layout = layout.value();
    }
    found
}

/// Names of the instructions that a process of the first kind of processor may use and the second
/// does not have.
pub fn missing(image: &Processor, here: &Processor) -> impl Iterator<Item = &'static str> {
    let lost =
        core::array::from_fn::<u32, FEATURE_WORDS, _>(|at| image.features[at] & !here.features[at]);
    let names = INSTRUCTIONS.iter().zip(lost);
    names.flat_map(|(word, lost)| {
        word.iter().filter(move |(bit, _)| lost >> bit & 1 != 0).map(|(_, name)| *name)
    })
}

/// Whether both processors save their registers in the same way.
#[must_use]
pub fn saves_alike(image: &Processor, here: &Processor) -> bool {
    let saved = |kind: &Processor| (kind.xcr0, kind.xsave_len, kind.xsave_layout);
    saved(image) == saved(here)
}

/// x87, SSE and AVX: what processors without AVX-512 and protection keys save.
const PLAIN: u64 = 7;
/// Bytes of the XSAVE area for these.
const PLAIN_LEN: u64 = 832;
/// Place of AVX's registers: part, bytes, begin, flags. It is the same in all processors.
const AVX: [u32; 4] = [2, 256, 576, 0];

/// Whether the second processor saves what the first one does, in the same places, and more behind
/// them. The first one is of a common kind, without AVX-512 and protection keys.
///
/// The kernel reads an old signal frame there: a frame tells its own length and its own registers.
/// The dynamic linker's areas must grow ([`crate::save_areas`]).
#[must_use]
pub fn saves_more(image: &Processor, here: &Processor) -> bool {
    let layout = AVX.iter().fold(Hash::new(), |hash, word| hash.with(&word.to_le_bytes()));
    (image.xcr0, image.xsave_len, image.xsave_layout) == (PLAIN, PLAIN_LEN, layout.value())
        && missing(image, here).next().is_none()
        && here.xcr0 & PLAIN == PLAIN
        && here.xcr0 != PLAIN
        && here.xsave_len > PLAIN_LEN
}

/// Whether AVX registers have their usual place on this processor, or it has none.
#[must_use]
pub fn has_usual_places() -> bool {
    let place = cpuid(0xd, AVX[0]);
    processor().xcr0 >> AVX[0] & 1 == 0 || [AVX[0], place.eax, place.ebx, place.ecx] == AVX
}

/// Bytes that the registers of this processor take at most, whichever instruction saves them.
#[must_use]
pub fn save_len() -> u64 {
    // In fixed places; packed, with what only the kernel uses.
    u64::from(cpuid(0xd, 0).ebx.max(cpuid(0xd, 1).ebx))
}

/// Whether a process that was started on a processor of the first kind can run on the second.
#[must_use]
pub fn fits(image: &Processor, here: &Processor) -> bool {
    let has_all = image.features.iter().zip(here.features).all(|(wanted, has)| wanted & !has == 0);
    has_all && saves_alike(image, here)
}

/// Hash of the contents of a vDSO, as images hold it.
#[must_use]
pub fn vdso_hash(contents: &[u8]) -> u64 {
    if contents.is_empty() { 0 } else { Hash::new().with(contents).value() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_host_always_gives_the_same_values() {
        assert_eq!(processor(), processor());
        assert_ne!(processor(), Processor::default());
        assert!(fits(&processor(), &processor()));
        assert_ne!(vdso_hash(b"one kernel"), vdso_hash(b"another"));
    }
    #[test]
    fn a_processor_with_more_instructions_fits() {
        let old = Processor {
            features: [1; FEATURE_WORDS],
            xcr0: 7,
            xsave_len: 832,
            ..Processor::default()
        };
        let new = Processor { features: [3; FEATURE_WORDS], ..old };
        assert!(fits(&old, &new) && !fits(&new, &old));
        // The C library saves registers to as many bytes as the first host needed.
        assert!(!fits(&old, &Processor { xcr0: 0xe7, xsave_len: 2696, ..new }));
        // Another maker puts the parts elsewhere.
        assert!(!fits(&old, &Processor { xsave_layout: 5, ..new }));
    }

    #[test]
    fn more_registers_fit_behind_the_plain_ones() {
        let layout = AVX.iter().fold(Hash::new(), |hash, word| hash.with(&word.to_le_bytes()));
        let plain = Processor {
            features: features_of(&["avx"]),
            xcr0: PLAIN,
            xsave_len: PLAIN_LEN,
            xsave_layout: layout.value(),
        };
        let more = Processor { xcr0: 0x2e7, xsave_len: 2696, xsave_layout: 5, ..plain };
        assert!(saves_more(&plain, &more) && !saves_more(&more, &plain));
        assert!(!saves_more(&plain, &plain), "nothing grows");
        // Protection keys lie elsewhere in processors of another maker.
        assert!(!saves_more(&Processor { xcr0: 0x207, xsave_len: 840, ..plain }, &more));
        assert!(!saves_more(&plain, &Processor { xcr0: 0x2e3, ..more }), "no AVX");
        assert!(!saves_more(&plain, &Processor { features: features_of(&["sse2"]), ..more }));
        let places = Processor { xsave_layout: 6, ..plain };
        assert!(!saves_more(&places, &more), "AVX lies elsewhere");
        let fewer =
            Processor { xcr0: 3, xsave_len: 576, xsave_layout: Hash::new().value(), ..plain };
        assert!(!saves_more(&fewer, &more) && !saves_more(&Processor::default(), &more));
        assert!(has_usual_places() && save_len() >= processor().xsave_len);
    }

    #[test]
    fn a_baseline_leaves_out_what_ends_a_process_where_it_is_missing() {
        let left_out = |one: &[&str], two: &[&str]| {
            let hosts = [features_of(one), features_of(two)];
            let common = Processor { features: baseline(&hosts), ..Processor::default() };
            let first = Processor { features: hosts[0], ..Processor::default() };
            missing(&first, &common).count()
        };
        assert_eq!(left_out(&["avx512f", "sha_ni", "sse2"], &["sse2"]), 2);
        assert_eq!(left_out(&["avx512f"], &["avx512f", "rtm"]), 0);
        // These would compute something else, or code uses them without a question.
        assert_eq!(left_out(&["abm", "bmi1", "avx2", "xsavec"], &[]), 0);
        assert_eq!(baseline(&[]), [!0; FEATURE_WORDS]);
        let known = INSTRUCTIONS.iter().flat_map(|word| word.iter());
        for name in ESSENTIAL {
            assert!(known.clone().any(|(_, known)| known == name), "{name}");
        }
    }

    #[test]
    fn a_baseline_has_one_form() {
        let text = b"0000000100000000000000000000000000000000000000000000000000000000000000000000000000000000ffffffff";
        let mut wanted = [0; FEATURE_WORDS];
        (wanted[0], wanted[FEATURE_WORDS - 1]) = (1, !0);
        assert_eq!(parse_baseline(text), Some(wanted));
        assert_eq!(parse_baseline(&text[1..]), None);
        assert_eq!(parse_baseline(&[b'x'; 96]), None);
    }

    #[test]
    fn what_no_program_depends_on_is_left_out() {
        // Hypervisor, hybrid parts, SMEP, MD_CLEAR, fast short copies.
        let words = [(0, 31), (4, 15), (2, 7), (4, 10), (4, 4)];
        assert!(words.iter().all(|&(word, bit)| used_bits(word) >> bit & 1 == 0));
        let mut sse2 = Processor::default();
        (sse2.features[1], sse2.features[2]) = (1 << 26, 1 << 5);
        assert_eq!(missing(&sse2, &Processor::default()).collect::<Vec<_>>(), ["sse2", "avx2"]);
        assert_eq!(missing(&processor(), &processor()).next(), None);
    }
}
