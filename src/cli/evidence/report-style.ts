/** Style of the report: light and dark by the reader's setting, and for paper. */
export const reportStyle = `
:root { color-scheme: light dark; --ink: #1a1f26; --faint: #5b6672; --line: #d8dde3; --paper: #fff; --panel: #f5f7f9; --accent: #1f6feb; --deny: #c0322b; --other: #b58105; --good: #1a7f4b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --faint: #9aa5b1; --line: #343c46; --paper: #14181d; --panel: #1c2229; --accent: #6ea8fe; --deny: #ff7b72; --other: #e3b341; --good: #56d28c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 70rem; padding: 2rem 1.25rem 4rem; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .25rem; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; border-bottom: 1px solid var(--line); padding-bottom: .25rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 .4rem; }
p { margin: .4rem 0; max-width: 48rem; }
.faint, .none, .legend { color: var(--faint); }
code, pre { font: .86em ui-monospace, monospace; overflow-wrap: anywhere; }
pre { background: var(--panel); border: 1px solid var(--line); padding: .75rem; overflow-x: auto; white-space: pre-wrap; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .75rem; margin: 1.25rem 0; }
.tiles div { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem; }
.tiles b { display: block; font-size: 1.25rem; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
td { overflow-wrap: anywhere; min-width: 3rem; }
th { color: var(--faint); font-weight: 600; white-space: nowrap; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; overflow-wrap: normal; }
.deny { color: var(--deny); font-weight: 600; } .good { color: var(--good); font-weight: 600; } .warn { color: var(--other); font-weight: 600; }
svg { width: 100%; height: auto; display: block; } svg text { font: 11px system-ui, sans-serif; fill: var(--faint); } svg line { stroke: var(--line); }
svg.share { width: 8rem; height: .5rem; margin-top: .45rem; }
.allowed { fill: var(--accent); background: var(--accent); } .denied { fill: var(--deny); background: var(--deny); } .others { fill: var(--other); background: var(--other); }
.legend i { display: inline-block; width: .7rem; height: .7rem; border-radius: 2px; margin-left: .8rem; }
.matrix td, .matrix th { text-align: center; } .matrix th:first-child, .matrix td:first-child { text-align: left; }
@media print { :root { --ink: #000; --faint: #444; --line: #bbb; --paper: #fff; --panel: #f4f4f4; --accent: #1f6feb; --deny: #b3261e; --other: #8a6100; } body { max-width: none; padding: 0; font-size: 11px; } h2 { break-after: avoid; } tr, .tiles div, svg { break-inside: avoid; } * { print-color-adjust: exact; } }
`;
