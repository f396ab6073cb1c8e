//! The look: one style sheet and the hatchings, without custom properties, which not every viewer knows.

/// The style sheet. Light by default, dark where the reader prefers it.
pub(super) const STYLE: &str = "\
text{font-family:ui-sans-serif,system-ui,'Segoe UI',Roboto,'Helvetica Neue',Arial,'Liberation Sans',sans-serif}
.b{font-weight:700}
.m{font-family:ui-monospace,'SF Mono',Menlo,Consolas,'Liberation Mono','DejaVu Sans Mono',monospace}
.bg{fill:#fbfaf7}
.lane{fill:#f1efe9}
.main{fill:#1f2328}
.muted{fill:#5c636b}
.alarm{fill:#a3210f}
.card{fill:#fff;stroke:#b9b4a7;stroke-width:1.2}
.gate{fill:#fff4d6;stroke:#8a6500;stroke-width:1.6}
.promotion{fill:#fff;stroke:#1b6e4b;stroke-width:1.6}
.inner{fill:none;stroke:#1b6e4b;stroke-width:1}
.idea{stroke-dasharray:3 4}
.reduced{stroke:#8a6500;stroke-width:1.8;stroke-dasharray:9 3}
.tainted{stroke:#a3210f;stroke-width:1.8;stroke-dasharray:5 3}
.unsupported{stroke:#a3210f;stroke-width:2.2;stroke-dasharray:2 3}
.invalid{stroke:#a3210f;stroke-width:2.6}
.h{stroke:#a3210f;stroke-width:1.4;fill:none}
.hr{fill:#8a6500}
.w{fill:none;stroke-width:1.5;stroke-linejoin:round}
.hard{stroke:#1b6e4b;stroke-width:2.2}
.support{stroke:#2457a6}
.contrast{stroke:#8a6500;stroke-dasharray:7 4}
.idea-w{stroke:#8d8a80;stroke-dasharray:2 3}
.succession{stroke:#8d8a80;stroke-width:1;stroke-dasharray:10 3 2 3}
.a-hard{fill:#1b6e4b}
.a-support{fill:#2457a6}
.a-contrast{fill:#8a6500}
.a-idea-w,.a-succession{fill:#8d8a80}
.axis{stroke:#b9b4a7;stroke-width:1}
.base{stroke:#8a6500;stroke-width:2}
.dot{fill:#2457a6;stroke:#fff;stroke-width:.8}
.dot-o{fill:#fff;stroke:#a3210f;stroke-width:1.4}
.dot-s{fill:#fff;stroke:#8d8a80;stroke-width:1.2}
.dot-x{stroke:#a3210f;stroke-width:2;fill:none}
@media (prefers-color-scheme:dark){
.bg{fill:#14171a}
.lane{fill:#1b1f23}
.main{fill:#e8e6e1}
.muted{fill:#a2a9b0}
.alarm{fill:#ff8f7d}
.card{fill:#23282d;stroke:#4b535b}
.gate{fill:#3a300f;stroke:#d9ae3f}
.promotion{fill:#23282d;stroke:#5cc296}
.inner{stroke:#5cc296}
.reduced{stroke:#d9ae3f}
.tainted,.unsupported,.invalid,.h,.dot-x{stroke:#ff8f7d}
.hr{fill:#d9ae3f}
.hard{stroke:#5cc296}
.support{stroke:#7fb0ff}
.contrast,.base{stroke:#d9ae3f}
.idea-w,.succession{stroke:#868d94}
.a-hard{fill:#5cc296}
.a-support{fill:#7fb0ff}
.a-contrast{fill:#d9ae3f}
.a-idea-w,.a-succession{fill:#868d94}
.axis{stroke:#59626b}
.dot{fill:#7fb0ff;stroke:#23282d}
.dot-o{fill:#23282d;stroke:#ff8f7d}
.dot-s{fill:#23282d;stroke:#868d94}
}
";

/// Hatchings, one for each standing that is not valid.
pub(super) const HATCHES: &str = "\
<pattern id=\"h-reduced\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><circle class=\"hr\" cx=\"3\" cy=\"3\" r=\"1.3\"/></pattern>
<pattern id=\"h-tainted\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\"><path class=\"h\" d=\"M-1 8L8 -1M-1 1L1 -1M6 8L8 6\"/></pattern>
<pattern id=\"h-unsupported\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><path class=\"h\" d=\"M0 0L6 6M6 0L0 6\"/></pattern>
<pattern id=\"h-invalid\" width=\"6\" height=\"4\" patternUnits=\"userSpaceOnUse\"><path class=\"h\" d=\"M0 2H6\"/></pattern>
";
