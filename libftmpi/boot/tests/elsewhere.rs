//! Images fit other kernels, other address layouts, and processors with more instructions or
//! registers.
//!
//! The vDSO of the image is said to be another one: so the new process must not use the addresses
//! inside it that the C library keeps.

mod driver;

use driver::{End, Job, Process, compile, parts, raw, sign};
use ftmpi_checkpoint::boot_abi::{EXIT_IMAGE_MISFIT, VDSO_SLOT_LEN, VDSO_SLOTS_BASE};
use ftmpi_checkpoint::host;
use ftmpi_checkpoint::stream::{Hash, ProcessState, Processor, VDSO_FUNCTIONS, kind};
use std::mem::offset_of;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// An image of which this process can say what its host was.
struct Image(Vec<u8>);

impl Image {
    /// Asks a running process for it.
    fn take(process: &Process, number: u64) -> Self {
        let arriving = process.ask(number);
        let report = process.report(LONG).unwrap();
        assert_eq!(report.result, 0, "{}", report.why());
        Self(raw(&arriving.join().unwrap().unwrap()))
    }

    fn place(&self, offset: usize) -> usize {
        parts(&self.0)[&kind::PROCESS].start + offset
    }

    fn get(&self, offset: usize) -> u64 {
        u64::from_le_bytes(self.0[self.place(offset)..][..8].try_into().unwrap())
    }

    fn set(&mut self, offset: usize, bytes: &[u8]) {
        let at = self.place(offset);
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        let parts = parts(&self.0);
        sign(&mut self.0, &parts);
    }

    /// The same image from a kernel with another vDSO.
    fn of_another_kernel(mut self) -> Self {
        let hash = self.get(offset_of!(ProcessState, vdso_hash));
        self.set(offset_of!(ProcessState, vdso_hash), &(hash ^ 1).to_le_bytes());
        self
    }
}

fn restored(job: &Job, incarnation: u32, image: &Image) -> Process {
    let process = job.start(incarnation, Some(&image.0));
    let report = process.report(LONG).expect("the image fits");
    assert_eq!(report.result, 1, "{}", report.why());
    process
}

fn is_right(end: &End, restores: u32) -> bool {
    end.code == Some(0) && end.out == format!("{restores}\n") && end.err.is_empty()
}

#[test]
fn a_process_goes_from_kernel_to_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let job = Job::new(compile("kernels.c", folder.path(), &[]), &[]);
    let mut process = job.start(0, None);
    process.report(LONG).unwrap();
    let first = Image::take(&process, 1);
    process.kill();
    process.end(LONG);
    let functions = first.place(offset_of!(ProcessState, vdso_functions));
    let found = first.0[functions..][..4 * VDSO_FUNCTIONS.len()].chunks(4);
    let present = found.map(|at| u32::from_le_bytes(at.try_into().unwrap()) != 0);
    assert_eq!(present.take(4).collect::<Vec<_>>(), [true; 4], "functions of every vDSO");

    // The same kernel: the vDSO stays. Another one: it gets a place of its own.
    assert!(is_right(&restored(&job, 1, &first).end(LONG), 1));
    let first = first.of_another_kernel();
    let mut process = restored(&job, 2, &first);
    let second = Image::take(&process, 2);
    process.kill();
    process.end(LONG);
    let start = |image: &Image| image.get(offset_of!(ProcessState, vvar_start)) as usize;
    assert_eq!(start(&second), VDSO_SLOTS_BASE);
    // Back on the kernel of the second image.
    assert!(is_right(&restored(&job, 3, &second).end(LONG), 2));
    // On to a third one, and from there to a fourth.
    let mut process = restored(&job, 4, &second.of_another_kernel());
    let third = Image::take(&process, 3);
    process.kill();
    process.end(LONG);
    assert_eq!(start(&third), VDSO_SLOTS_BASE + VDSO_SLOT_LEN);
    assert!(is_right(&restored(&job, 5, &third.of_another_kernel()).end(LONG), 3));
}

#[test]
fn an_image_from_inside_of_the_vdso_fits_its_kernel_only() {
    let folder = tempfile::tempdir().unwrap();
    let job = Job::new(compile("kernels.c", folder.path(), &[]), &[]);
    let mut process = job.start(0, None);
    process.report(LONG).unwrap();
    let mut image = Image::take(&process, 1).of_another_kernel();
    process.kill();
    process.end(LONG);
    // A thread that stood inside would go on in code that is not there.
    image.set(offset_of!(ProcessState, inside_vdso), &1u32.to_le_bytes());
    let end = job.start(1, Some(&image.0)).end(LONG);
    assert_eq!(end.code, Some(EXIT_IMAGE_MISFIT), "{end:?}");
    assert!(end.err.contains("another kernel"), "{end:?}");
}

#[test]
fn threads_inside_of_the_vdso_are_seen_below_handlers() {
    let folder = tempfile::tempdir().unwrap();
    let job = Job::new(compile("kernels.c", folder.path(), &[]), &["anywhere"]);
    let mut process = job.start(0, None);
    process.report(LONG).unwrap();
    let (mut inside, mut outside) = (0, 0);
    for number in 1..=60 {
        std::thread::sleep(Duration::from_micros(300 * (number % 7)));
        let image = Image::take(&process, number);
        if image.get(offset_of!(ProcessState, inside_vdso)) != 0 {
            inside += 1;
            assert!(is_right(&restored(&job, 1, &image).end(LONG), 1), "on its kernel");
        } else if outside < 4 {
            outside += 1;
            let image = image.of_another_kernel();
            assert!(is_right(&restored(&job, 1, &image).end(LONG), 1), "on another one");
        }
        if inside > 3 && outside == 4 {
            break;
        }
    }
    process.kill();
    assert!(inside > 0 && outside > 0, "{inside} inside, {outside} outside");
}

#[test]
fn a_processor_needs_all_instructions_of_the_first_one() {
    let folder = tempfile::tempdir().unwrap();
    let job = Job::new(compile("kernels.c", folder.path(), &[]), &[]);
    let mut process = job.start(0, None);
    process.report(LONG).unwrap();
    let mut image = Image::take(&process, 1);
    process.kill();
    process.end(LONG);
    let word =
        |n: usize| offset_of!(ProcessState, processor) + offset_of!(Processor, features) + 4 * n;
    let at = image.place(word(2));
    let found = u32::from_le_bytes(image.0[at..at + 4].try_into().unwrap());
    // From an older processor, without AVX2.
    image.set(word(2), &(found & !(1 << 5)).to_le_bytes());
    assert!(is_right(&restored(&job, 1, &image).end(LONG), 1));
    // From one with instructions that no processor of today has together.
    image.set(word(2), &(found | 1 << 26 | 1 << 27).to_le_bytes());
    let end = job.start(1, Some(&image.0)).end(LONG);
    assert_eq!(end.code, Some(EXIT_IMAGE_MISFIT), "{end:?}");
    assert!(end.err.contains("more instructions"), "{end:?}");
}

#[test]
fn a_layout_that_is_left_to_chance_is_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("kernels.c", folder.path(), &[]);
    let job = Job { randomised: true, ..Job::new(program, &[]) };
    let take = |process: &mut Process, number| {
        let image = Image::take(process, number);
        process.kill();
        image
    };
    let fields = [offset_of!(ProcessState, stack_end), offset_of!(ProcessState, heap_start)];
    let mut fresh = job.start(0, None);
    fresh.report(LONG).unwrap();
    let other = take(&mut fresh, 1);
    let other = fields.map(|field| other.get(field));
    let mut process = job.start(0, None);
    process.report(LONG).unwrap();
    let mut image = take(&mut process, 1);
    assert_ne!(fields.map(|field| image.get(field)), other, "the kernel did not randomise");
    let places = fields.map(|field| image.get(field));
    for number in [2, 4] {
        let mut process = restored(&job, number, &image);
        image = take(&mut process, u64::from(number));
        assert_eq!(fields.map(|field| image.get(field)), places);
    }
    assert!(is_right(&restored(&job, 5, &image).end(LONG), 3));
    // On a host with a fixed layout.
    let job = Job { randomised: false, ..job };
    assert!(is_right(&restored(&job, 5, &image).end(LONG), 3));
}

/// The processor of an image, as it would be with AVX and without AVX-512.
fn with_avx_only(image: &mut Image) {
    let layout = [2u32, 256, 576, 0].map(u32::to_le_bytes);
    let layout = layout.iter().fold(Hash::new(), |hash, word| hash.with(word));
    for (field, value) in [
        (offset_of!(Processor, xcr0), 7),
        (offset_of!(Processor, xsave_len), 832),
        (offset_of!(Processor, xsave_layout), layout.value()),
    ] {
        image.set(offset_of!(ProcessState, processor) + field, &value.to_le_bytes());
    }
}

#[test]
fn a_processor_with_more_registers_takes_images_of_avx() {
    if host::processor().xcr0 & 0xe0 != 0xe0 {
        return eprintln!("not tested: this processor has no AVX-512");
    }
    let folder = tempfile::tempdir().unwrap();
    let program = compile("registers.c", folder.path(), &["-pthread", "-Wl,-z,lazy"]);
    let take = |job: &Job| {
        let mut process = job.start(0, None);
        process.report(LONG).unwrap();
        let mut image = Image::take(&process, 1);
        process.kill();
        process.end(LONG);
        with_avx_only(&mut image);
        image
    };
    let job = Job::new(program.clone(), &["16384"]);
    let image = take(&job);
    let end = restored(&job, 1, &image).end(LONG);
    assert!(is_right(&end, 1), "{end:?}");
    // Would the program notice areas that are too small?
    let small = Job::new(program.clone(), &["16384", "small"]);
    let end = restored(&small, 1, &take(&small)).end(LONG);
    assert!(!is_right(&end, 1), "{end:?}");
    // Alternative stacks that are too short, and other places.
    let short = Job::new(program, &["4096"]);
    let mut elsewhere = image;
    let layout = offset_of!(ProcessState, processor) + offset_of!(Processor, xsave_layout);
    elsewhere.set(layout, &1u64.to_le_bytes());
    for (job, image) in [(&short, take(&short)), (&job, elsewhere)] {
        let end = job.start(1, Some(&image.0)).end(LONG);
        assert_eq!(end.code, Some(EXIT_IMAGE_MISFIT), "{end:?}");
        assert!(end.err.contains("with other registers"), "{end:?}");
    }
}
