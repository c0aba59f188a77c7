//! Finds the references between the files of a crate.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemImpl, ItemMod, ItemUse, Type, UseTree, Visibility};

/// A module, as its path from the crate's root.
type Module = Vec<String>;

/// The references in each file of a crate.
#[derive(Default)]
pub struct Imports<'a> {
    /// The file of each module.
    files: BTreeMap<Module, &'a str>,
    /// The paths that occur in each module.
    paths: BTreeMap<Module, Vec<Module>>,
    /// The names that a module imports or reexports, with their full paths.
    exports: BTreeMap<(Module, String), Module>,
    /// For each file, the types of its inherent impls, as it calls them.
    impls: BTreeMap<&'a str, Vec<Module>>,
}

impl<'a> Imports<'a> {
    /// Reads the sources of a crate. `files` has paths in `src`, with the texts.
    ///
    /// # Errors
    /// A file is not valid Rust.
    pub fn read(files: &'a BTreeMap<String, String>) -> Result<Self, syn::Error> {
        let mut imports = Self::default();
        for (path, text) in files {
            let module = module_of(path);
            let mut reader = Reader { module: module.clone(), ..Reader::default() };
            reader.visit_file(&syn::parse_file(text)?);
            for (name, target) in reader.exports {
                imports.exports.insert((module.clone(), name), target);
            }
            imports.paths.insert(module.clone(), reader.paths);
            imports.impls.insert(path, reader.impls);
            imports.files.insert(module, path);
        }
        Ok(imports)
    }

    /// For each file, the other files that it refers to. A reexport of a child module does not count.
    pub fn edges(&self) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
        let mut edges: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (module, paths) in &self.paths {
            let from = self.files[module];
            let named = paths.iter().filter_map(|path| self.file_of(path, 0)).filter(|file| *file != from);
            edges.entry(from).or_default().extend(named);
        }
        edges
    }

    /// The inherent impls of the crate: for each one its file, the file that defines its type, and the name of the type.
    pub fn impls(&self) -> impl Iterator<Item = (&'a str, &'a str, String)> {
        self.impls.iter().flat_map(|(file, paths)| {
            paths.iter().filter_map(|path| {
                let (defined_in, name) = self.definition(file, path)?;
                Some((*file, defined_in, name))
            })
        })
    }

    /// The file that defines the type that `file` calls `path`, which is `file` itself if it does not import it, and the
    /// name of the type.
    fn definition(&self, file: &'a str, path: &[String]) -> Option<(&'a str, String)> {
        let module = module_of(file);
        let imported = match path {
            [name] => self.exports.get(&(module, name.clone())).cloned(),
            path => Reader { module, ..Reader::default() }.resolve(path),
        };
        let name = imported.as_deref().unwrap_or(path).last()?.clone();
        let defined_in = imported.and_then(|path| self.file_of(&path, 0)).unwrap_or(file);
        Some((defined_in, name))
    }

    /// The file that defines the item at `path`.
    fn file_of(&self, path: &[String], followed: usize) -> Option<&'a str> {
        let depth = (0..=path.len()).rev().find(|depth| self.files.contains_key(&path[..*depth]))?;
        let module = path[..depth].to_vec();
        if let Some(name) = path.get(depth)
            && let Some(target) = self.exports.get(&(module.clone(), name.clone()))
            && followed < 8
        {
            let target: Module = target.iter().chain(&path[depth + 1..]).cloned().collect();
            return self.file_of(&target, followed + 1);
        }
        self.files.get(&module).copied()
    }
}

/// The module of a file: `machine::plan` for `machine/plan.rs`; for `lib.rs`, `main.rs` and `mod.rs`, the
/// module of their folder.
fn module_of(path: &str) -> Module {
    let mut module: Module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if module.last().is_some_and(|last| ["lib", "main", "mod"].contains(&last.as_str())) {
        module.pop();
    }
    module
}

/// Collects the paths in one file, relative to the crate's root.
#[derive(Default)]
struct Reader {
    module: Module,
    /// Number of inline modules around the current position.
    nested: usize,
    paths: Vec<Module>,
    exports: Vec<(String, Module)>,
    impls: Vec<Module>,
}

impl Reader {
    /// The path from the crate's root, or `None` if it leaves the crate.
    fn resolve(&self, parts: &[String]) -> Option<Module> {
        let first = parts.first()?;
        let mut base = self.module.clone();
        let mut rest = parts;
        match first.as_str() {
            "crate" => {
                base.clear();
                rest = &parts[1..];
            }
            "self" => rest = &parts[1..],
            "super" => {
                let mut up = parts.iter().take_while(|part| *part == "super").count();
                rest = &parts[up..];
                up = up.saturating_sub(self.nested);
                base.truncate(base.len().saturating_sub(up));
            }
            // The path begins with a child module or with another crate, which matches no module.
            _ => {}
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }

    fn note(&mut self, parts: &[String]) {
        if parts.len() > 1 {
            self.paths.extend(self.resolve(parts));
        }
    }

    fn note_use(&mut self, tree: &UseTree, prefix: &mut Module, exported: bool) {
        match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.note_use(&path.tree, prefix, exported);
                prefix.pop();
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|item| self.note_use(item, prefix, exported))
            }
            UseTree::Glob(_) if exported => {}
            UseTree::Glob(_) => self.paths.extend(self.resolve(prefix)),
            UseTree::Name(name) => {
                self.note_leaf(&name.ident.to_string(), &name.ident.to_string(), prefix, exported)
            }
            UseTree::Rename(name) => {
                self.note_leaf(&name.ident.to_string(), &name.rename.to_string(), prefix, exported);
            }
        }
    }

    fn note_leaf(&mut self, name: &str, local: &str, prefix: &[String], exported: bool) {
        let mut parts = prefix.to_vec();
        if name != "self" {
            parts.push(name.to_owned());
        }
        let Some(target) = self.resolve(&parts) else { return };
        if target != self.module {
            self.exports.push((local.to_owned(), target.clone()));
        }
        let is_own_child = exported && target.starts_with(&self.module);
        if !is_own_child && parts.len() > 1 {
            self.paths.push(target);
        }
    }

    /// Records paths in the arguments of a macro, which are not parsed as Rust.
    fn note_tokens(&mut self, tokens: TokenStream) {
        let mut path: Module = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) if path.is_empty() || colons == 2 => {
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => colons += 1,
                other => {
                    self.note(&std::mem::take(&mut path));
                    colons = 0;
                    match other {
                        TokenTree::Ident(ident) => path.push(ident.to_string()),
                        TokenTree::Group(group) => self.note_tokens(group.stream()),
                        _ => {}
                    }
                }
            }
        }
        self.note(&path);
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Mod(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !attributes.iter().any(is_for_tests) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if let (None, Type::Path(path)) = (&item.trait_, &*item.self_ty) {
            let segments = path.path.segments.iter();
            self.impls.push(segments.map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.nested += 1;
        visit::visit_item_mod(self, item);
        self.nested -= 1;
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let exported = !matches!(item.vis, Visibility::Inherited);
        self.note_use(&item.tree, &mut Vec::new(), exported);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.note(&parts);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.note_tokens(call.tokens.clone());
    }
}

/// Whether this is `#[cfg(test)]`, possibly with other conditions.
fn is_for_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string().contains("test"))
}
