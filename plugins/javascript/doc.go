// Package javascript makes plugins of programs in JavaScript, without a compiler.
//
// A plugin is QuickJS-NG in WebAssembly (module/plugin.wasm, from the sources that package
// script uses) with the program inside: [Build] runs the program's top level once, and the
// memory that it leaves becomes the data of the module. So a gateway neither reads
// source text nor starts an interpreter; it calls the function that the program exports. The
// module speaks the contract of plugins (docs/plugins/contract.md) and nothing else, and is metered,
// bounded and kept apart like any other.
package javascript
