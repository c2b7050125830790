//! The attribute that makes a Rust function an MPI entry point.
//!
//! `#[entry]` on `pub extern "C" fn MPI_X(…) -> R { body }` exports two strong symbols with that
//! body, `MPI_X` and its profiling twin `PMPI_X`. The body itself has a private symbol. A tool that
//! overrides `MPI_X` reaches the library by `PMPI_X`. Nothing inside the library passes through a
//! symbol that a tool may have taken over. (A Rust `cdylib` drops weak and assembler-made symbols
//! from its export list; therefore both are strong.)
//!
//! `#[entry(guard = path)]` also binds the result of `path(&"MPI_X")` for the length of the body:
//! what it returns is dropped when the call returns to the program.
//!
//! The unexpanded source is ordinary Rust.

use proc_macro::TokenStream;
use proc_macro2::{Span, TokenStream as Tokens};
use quote::quote;
use syn::{Attribute, Error, FnArg, Ident, ItemFn, Path, Token, parse_macro_input};

/// Exports the function under its own name and as `P` + name. See the module's documentation.
#[proc_macro_attribute]
pub fn entry(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let guard = if arguments.is_empty() {
        None
    } else {
        match syn::parse::<Guard>(arguments) {
            Ok(g) => Some(g.0),
            Err(e) => return e.to_compile_error().into(),
        }
    };
    let function = parse_macro_input!(item as ItemFn);
    expand(function, guard).unwrap_or_else(|e| e.to_compile_error()).into()
}

/// Exports a Fortran subroutine or function over the C function of the same name.
///
/// On `unsafe fn MPI_X(…) { body }`, where the body calls C functions as `c::X(…)`: exports
/// `mpi_x_`, `mpi_x__` and `MPI_X` in capitals, whose body calls the symbols `MPI_…`. Exports the
/// same with `pmpi`, whose body calls `PMPI_…`. So a profiling tool written in C sees the calls of
/// Fortran programs, and one written in Fortran can call through. The crate provides the modules
/// `crate::c::mpi` and `crate::c::pmpi`.
///
/// The specific names of the module `mpi_f08`, `mpi_x_f08_` and `pmpir_x_f08_` (behind `_c`:
/// `mpi_x_f08_large_`), have the same body. Handles and statuses are references to the same
/// integers there. `#[fortran(mpif)]` leaves them out, for functions whose arguments differ.
#[proc_macro_attribute]
pub fn fortran(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as ItemFn);
    let mpif_only = arguments.to_string() == "mpif";
    expand_fortran(function, !mpif_only).unwrap_or_else(|e| e.to_compile_error()).into()
}

fn expand_fortran(function: ItemFn, in_f08: bool) -> syn::Result<Tokens> {
    let (inputs, output, block) = (&function.sig.inputs, &function.sig.output, &function.block);
    let attributes = &function.attrs;
    let name = function.sig.ident.to_string();
    let Some(stem) = name.strip_prefix("MPI_") else {
        return Err(Error::new_spanned(&function.sig.ident, "the name begins with MPI_"));
    };
    let mut parameters = Vec::new();
    let mut names = Vec::new();
    for (i, argument) in inputs.iter().enumerate() {
        let FnArg::Typed(argument) = argument else {
            return Err(Error::new_spanned(argument, "a Fortran subroutine has no self"));
        };
        let (n, t) = (Ident::new(&format!("p{i}"), Span::call_site()), &argument.ty);
        parameters.push(quote!(#n: #t));
        names.push(n);
    }
    let mut expansion = Tokens::new();
    for (prefix, module) in [("mpi", "mpi"), ("pmpi", "pmpi")] {
        let module = Ident::new(module, Span::call_site());
        let (lower, upper) = (
            format!("{prefix}_{}", stem.to_lowercase()),
            format!("{prefix}_{stem}").to_uppercase(),
        );
        let body = Ident::new(&format!("__body_of_{lower}"), Span::call_site());
        expansion.extend(quote! {
            #(#attributes)*
            #[allow(non_snake_case, unused_imports, clippy::undocumented_unsafe_blocks)]
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn #body(#inputs) #output {
                use crate::c::#module as c;
                // SAFETY: Fortran passes the arguments that the MPI standard says, by reference.
                unsafe { #block }
            }
        });
        let f08 = match stem.to_lowercase().strip_suffix("_c") {
            Some(short) => format!("{short}_f08_large_"),
            None => format!("{}_f08_", stem.to_lowercase()),
        };
        let f08 = format!("{}{f08}", if prefix == "mpi" { "mpi_" } else { "pmpir_" });
        let mut symbols = vec![format!("{lower}_"), format!("{lower}__"), upper];
        symbols.extend(in_f08.then_some(f08));
        for symbol in symbols {
            let symbol = Ident::new(&symbol, Span::call_site());
            expansion.extend(quote! {
                #[unsafe(no_mangle)]
                #[allow(non_snake_case, missing_docs, clippy::missing_safety_doc)]
                #[allow(clippy::too_many_arguments)]
                pub unsafe extern "C" fn #symbol(#(#parameters),*) #output {
                    // SAFETY: the caller's contract is the body's.
                    unsafe { #body(#(#names),*) }
                }
            });
        }
    }
    Ok(expansion)
}

/// `guard = path::to::function`
struct Guard(Path);

impl syn::parse::Parse for Guard {
    fn parse(input: syn::parse::ParseStream) -> syn::Result<Self> {
        let word: Ident = input.parse()?;
        if word != "guard" {
            return Err(Error::new(word.span(), "expected `guard = path`"));
        }
        input.parse::<Token![=]>()?;
        Ok(Guard(input.parse()?))
    }
}

fn expand(function: ItemFn, guard: Option<Path>) -> syn::Result<Tokens> {
    let sig = &function.sig;
    let is_c = sig.abi.as_ref().and_then(|a| a.name.as_ref()).is_some_and(|n| n.value() == "C");
    if !is_c {
        return Err(Error::new_spanned(sig, "an entry point is an `extern \"C\" fn`"));
    }
    if sig.variadic.is_some() || !sig.generics.params.is_empty() {
        return Err(Error::new_spanned(sig, "an entry point is neither variadic nor generic"));
    }
    let name = &sig.ident;
    let twin = Ident::new(&format!("P{name}"), name.span());
    let hidden = Ident::new(&format!("__body_of_{name}"), name.span());
    let (unsafety, output, block) = (&sig.unsafety, &sig.output, &function.block);
    let (visibility, attributes) = (&function.vis, &function.attrs);
    // Lints and conditions hold for all three functions, documentation for the first.
    let shared: Vec<&Attribute> = attributes.iter().filter(|a| !a.path().is_ident("doc")).collect();

    let mut parameters = Vec::new();
    let mut names = Vec::new();
    for (i, argument) in sig.inputs.iter().enumerate() {
        let FnArg::Typed(argument) = argument else {
            return Err(Error::new_spanned(argument, "an entry point has no self"));
        };
        let (n, t) = (Ident::new(&format!("p{i}"), Span::call_site()), &argument.ty);
        parameters.push(quote!(#n: #t));
        names.push(n);
    }
    let inputs = &sig.inputs;
    let text = name.to_string();
    let guarded = guard.map(|g| quote!(let _guard = #g(&#text);));
    let call = if unsafety.is_some() {
        // SAFETY (of the expansion): the wrapper has the body's own contract.
        quote!(unsafe { #hidden(#(#names),*) })
    } else {
        quote!(#hidden(#(#names),*))
    };
    let twin_doc = format!("Profiling twin of [`{name}`].");
    Ok(quote! {
        #(#attributes)*
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]
        #[allow(clippy::too_many_arguments, clippy::not_unsafe_ptr_arg_deref)]
        #visibility #unsafety extern "C" fn #name(#(#parameters),*) #output { #call }

        #[doc = #twin_doc]
        #(#shared)*
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]
        #[allow(clippy::too_many_arguments, clippy::not_unsafe_ptr_arg_deref)]
        #visibility #unsafety extern "C" fn #twin(#(#parameters),*) #output { #call }

        #(#shared)*
        #[allow(non_snake_case, clippy::too_many_arguments, clippy::not_unsafe_ptr_arg_deref)]
        #unsafety extern "C" fn #hidden(#inputs) #output {
            #guarded
            #block
        }
    })
}
