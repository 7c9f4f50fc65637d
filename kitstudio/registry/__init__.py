"""Where Kits come from.

| Module | Owns |
|---|---|
| `reference` | references and the forms of the command line |
| `source` | the contract every source fulfils, and its values |
| `manifest`, `artifact` | manifests, indexes and configs; from a reference to one `Artifact` (§9.3, §10) |
| `blob_store` | verified bytes on disk, an OCI layout |
| `layout`, `demo`, `folder`, `registry` | the sources |
| `client`, `challenge`, `credentials`, `failures` | requests to a registry: sign-in, limits, refusals in words |
| `writer`, `copy` | images as values, layouts, copies with digests kept |
| `kit_image`, `debian`, `demo_build` | from sources to published Kits; the embedded catalog |
| `threads` | the two bounded pools behind which all of it blocks |
"""
