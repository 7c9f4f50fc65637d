"""Where Kits come from.

| Module | Owns |
|---|---|
| `reference` | references and the forms of the command line |
| `source` | the contract every source fulfils, and its values |
| `manifest`, `artifact` | manifests, indexes and configs; from a reference to one `Artifact` (§9.3, §10) |
| `attached`, `staged` | signatures and what else is attached; the sources a Kit brings along |
| `blob_store`, `eviction` | verified bytes on disk, an OCI layout; keeping it within a size |
| `layout`, `demo`, `folder`, `registry`, `hub` | the sources |
| `listing`, `hub_values`, `watch` | what they list; noticing that a folder changed |
| `index`, `memory` | the Kits seen, searchable and offline; marks for conditional requests |
| `credentials`, `credential_helper`, `secret_store`, `accounts`, `sign_in` | who we are to a registry |
| `transport`, `session`, `client` | requests to a registry: the way out, what is known, each request |
| `challenge`, `token_service`, `failures` | what a registry asks, where tokens come from, refusals in words |
| `web`, `icons`, `icon_format` | small pages and pictures from elsewhere |
| `writer`, `copy` | images as values, layouts, copies with digests kept |
| `upload`, `publish`, `merged_image` | a file on its way out; sending a new image; the image of a merged set (§9.5) |
| `kit_image`, `debian`, `demo_build` | from sources to published Kits; the embedded catalog |
| `threads` | the two bounded pools behind which all of it blocks |
"""
