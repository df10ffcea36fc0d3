import type { VerificationResult } from '../../audit/verification/verification.ts';
import type { RequestCounts } from '../../audit/search/request-counts.ts';
import type { FoundRequest } from '../../audit/search/search.ts';
import { timeOf } from '../../audit/record/time.ts';
import type { Zone } from '../output/zone.ts';
import type { PolicyEvent } from '../../gateway/replay/policy-history.ts';
import type { KeyInventory } from '../service/known-keys.ts';
import { shareBar, timeChart } from './charts.ts';
import { fieldsOf, MOST_LISTED, type EvidenceCounts } from './evidence-counts.ts';
import { html, htmlTable, Html, type HtmlColumn } from './html.ts';
import { matrixSection } from './matrix-section.ts';
import { reportStyle } from './report-style.ts';
import type { ReadMatrix } from './who-can-read.ts';

/** What the report of an evidence folder shows. */
export interface EvidenceFacts {
  /** RFC 3339; `since` is null for the whole log. */
  readonly since: string | null;
  readonly until: string;
  /** When the folder was made, and by which version of the program. */
  readonly made: string;
  readonly version: string;
  readonly zone: Zone;
  readonly counts: EvidenceCounts;
  readonly verification: EvidenceVerification;
  readonly policies: readonly PolicyInForce[];
  /** Undefined where no policy of the period can be read. */
  readonly matrix: { readonly digest: string; readonly cells: ReadMatrix } | undefined;
  readonly keys: readonly KeyInventory[];
  /** Id of the key that signs the digests; null for unsigned evidence. */
  readonly signer: string | null;
  /** What the folder does not show, a sentence each. */
  readonly limits: readonly string[];
}

/** The result of `audit verify`. */
export type EvidenceVerification = Pick<
  VerificationResult,
  'instances' | 'records' | 'unsigned' | 'findings' | 'notes'
> & {
  readonly keys: readonly { readonly id: string; readonly why: string }[];
  readonly unknown: readonly string[];
};

/** A policy that decided requests of the period, and its files. */
export interface PolicyInForce extends PolicyEvent {
  readonly files: readonly { readonly name: string; readonly text: string }[];
}

const digits = new Intl.NumberFormat('en-US');
/** Rows of tables of the largest counts. */
const MOST_ROWS = 25;
/** Characters of a policy file that the page shows; the folder has the whole file. */
const MOST_POLICY_TEXT = 100_000;

/** The report as one HTML page, which needs no other file. */
export function reportPage(facts: EvidenceFacts): string {
  const title = `Audit evidence, ${periodText(facts)}`;
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta
          http-equiv="content-security-policy"
          content="default-src 'none'; style-src 'unsafe-inline'"
        />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <style>
          ${new Html(reportStyle)}
        </style>
      </head>
      <body>
        <h1>Audit evidence</h1>
        <p>${periodText(facts)}</p>
        <p class="faint">
          Made ${facts.zone.shown(facts.made)} by arrowgate ${facts.version}. Times are in
          ${facts.zone.name}.
        </p>
        ${tiles(facts)} ${sections.map((section) => section(facts))}
      </body>
    </html> `;
  return page.text;
}

const sections: readonly ((facts: EvidenceFacts) => Html)[] = [
  integrity,
  overTime,
  who,
  what,
  denials,
  acts,
  policies,
  ({ matrix }) => matrixSection(matrix),
  keys,
  limits,
];

function periodText({ since, until, zone }: EvidenceFacts): string {
  const from = since === null ? 'the start of the log' : zone.shown(since);
  return `requests from ${from} until ${zone.shown(until)}`;
}

function tiles({ counts, verification }: EvidenceFacts): Html {
  const decided = new Map(counts.of('decisions').map((row) => [row.key, row.requests]));
  const bytes = counts.of('decisions').reduce((sum, row) => sum + row.bytesOut, 0n);
  const values: readonly (readonly [string, number | bigint])[] = [
    ['requests', counts.requests],
    ['allowed', decided.get('allow') ?? 0],
    ['denied by the policy', decided.get('deny') ?? 0],
    ['without valid credentials', decided.get('unauthenticated') ?? 0],
    ['subjects', counts.of('subjects').filter(({ key }) => key !== null).length],
    ['objects', counts.of('objects').filter(({ key }) => key !== null).length],
    ['bytes sent', bytes],
    ['findings in the log', verification.findings.length],
  ];
  return html`<div class="tiles">
    ${values.map(([name, value]) => html`<div><b>${digits.format(value)}</b>${name}</div>`)}
  </div>`;
}

function integrity({ verification, signer }: EvidenceFacts): Html {
  const { instances, records, unsigned, findings, notes } = verification;
  const verdict =
    findings.length === 0
      ? html`<span class="good">Nothing is wrong with the audit log.</span>`
      : html`<span class="deny">The audit log has findings: ${findings.length}.</span>`;
  const signed =
    signer === null
      ? html`<span class="warn">This folder is not signed</span>, because no
          <code>audit.signing_key</code> was configured: whoever changes a file can change the list
          of digests as well.`
      : html`The list of digests is signed by the key <code>${signer}</code>.`;
  return html`<h2>Integrity</h2>
    <p>
      ${verdict} Records of all times: ${records}, in instances: ${instances}; not signed yet:
      ${unsigned}.
    </p>
    <p>
      ${signed} <code>arrowgate audit verify --evidence DIR</code> compares every file with the
      list.
    </p>
    ${listOf(findings.map(({ kind, instance, file, line, text }) => `${kind}: ${file === null ? instance : `${file}:${line}`}: ${text}`))}
    ${listOf(notes)} ${listOf(verification.keys.map(({ id, why }) => `trusted key ${id} (${why})`))}`;
}

function listOf(sentences: readonly string[]): Html {
  if (sentences.length === 0) return html``;
  return html`<ul>
    ${sentences.map((sentence) => html`<li>${sentence}</li>`)}
  </ul>`;
}

function overTime({ counts, zone }: EvidenceFacts): Html {
  return html`<h2>When</h2>
    ${timeChart(counts.hours, zone)}`;
}

const countColumns: readonly HtmlColumn[] = [
  { heading: '' },
  { heading: 'Requests', isNumber: true },
  { heading: 'Allowed', isNumber: true },
  { heading: 'Denied', isNumber: true },
  { heading: 'Bytes sent', isNumber: true },
  { heading: 'First' },
  { heading: 'Last' },
];

function countTable(
  heading: string,
  rows: readonly RequestCounts[],
  { zone }: EvidenceFacts,
): Html {
  const most = Math.max(0, ...rows.map(({ requests, open }) => requests + open));
  const cells = rows
    .slice(0, MOST_ROWS)
    .map((row) => [
      row.key ?? 'none',
      shareBar(row.requests + row.open, most),
      ...countCells(row, zone),
    ]);
  const columns = [{ heading }, ...countColumns];
  const table = htmlTable(columns, cells, 'No request in this period.');
  return html`${table}${restOf(rows.length, MOST_ROWS)}`;
}

function countCells(row: RequestCounts, zone: Zone): readonly (string | number | bigint)[] {
  const { requests, open, decisions, bytesOut, first, last } = row;
  return [
    requests + open,
    decisions.get('allow') ?? 0,
    decisions.get('deny') ?? 0,
    bytesOut,
    ...[first, last].map((time) => shortTime(timeOf(time), zone)),
  ];
}

function shortTime(time: string, zone: Zone): string {
  return zone.shown(time).replace(/\.\d+/, '').replace('T', ' ');
}

function restOf(count: number, shown: number): Html {
  if (count <= shown) return html``;
  return html`<p class="faint">
    ${count - shown} more: <code>records.csv</code> has all requests.
  </p>`;
}

function who(facts: EvidenceFacts): Html {
  return html`<h2>Who</h2>
    ${countTable('Subject', facts.counts.of('subjects'), facts)}`;
}

function what(facts: EvidenceFacts): Html {
  const { counts, zone } = facts;
  const uses = counts.of('uses');
  const rows = uses.slice(0, MOST_ROWS * 2).map((row) => {
    const [subject, operation = null, object = null] = fieldsOf(row);
    return [subject ?? 'none', operation, object, ...countCells(row, zone)];
  });
  const columns = [
    { heading: 'Subject' },
    { heading: 'Operation' },
    { heading: 'Object' },
    ...countColumns.slice(1),
  ];
  return html`<h2>What</h2>
    <h3>Objects</h3>
    ${countTable('Object', counts.of('objects'), facts)}
    <h3>Operations</h3>
    ${countTable('Operation', counts.of('operations'), facts)}
    <h3>Who did what</h3>
    ${htmlTable(columns, rows, 'No request in this period.')}${restOf(uses.length, MOST_ROWS * 2)}`;
}

function denials({ counts, zone }: EvidenceFacts): Html {
  const all = counts.of('denials');
  const rows = all.slice(0, MOST_ROWS * 4).map((row) => {
    const [subject, operation = null, object = null, decision = null, why = null] = fieldsOf(row);
    const times = [row.first, row.last].map((time) => shortTime(timeOf(time), zone));
    const what = [subject ?? 'none', operation, object];
    return [...what, html`<span class="deny">${decision}</span>`, why, row.requests, ...times];
  });
  const columns = ['Subject', 'Operation', 'Object', 'Decision', 'Line or reason'].map(
    (heading) => ({ heading }),
  );
  const counted = [
    { heading: 'Requests', isNumber: true },
    { heading: 'First' },
    { heading: 'Last' },
  ];
  return html`<h2>Denials</h2>
    ${htmlTable([...columns, ...counted], rows, 'Nothing was denied in this period.')}${restOf(all.length, MOST_ROWS * 4)}`;
}

function acts({ counts, zone }: EvidenceFacts): Html {
  const rows = counts.acts.map((found) => actCells(found, zone));
  const columns = ['Time', 'Subject', 'Act', 'Object', 'Decision', 'Details'].map((heading) => ({
    heading,
  }));
  return html`<h2>Acts of administrators</h2>
    <p class="faint">
      Commands, reloads of the policy, upkeep, and operations of the group <code>manage</code>.
    </p>
    ${htmlTable(columns, rows, 'There were none in this period.')}${restOf(counts.actCount, MOST_LISTED)}`;
}

function actCells({ record, began }: FoundRequest, zone: Zone): readonly (string | null)[] {
  const details = Object.entries(record.context).map(([key, value]) => `${key}=${value}`);
  const { subject, operation, object, decision } = record;
  return [
    shortTime(began, zone),
    subject ?? 'the service',
    operation,
    object,
    decision,
    details.join(' '),
  ];
}

function policies({ policies: inForce, zone }: EvidenceFacts): Html {
  const shown = (time: string | null) => (time === null ? '' : shortTime(time, zone));
  const rows = inForce.map(({ since, last, digest, state, requests, findings }) => [
    shown(since),
    shown(last),
    html`<code>${digest ?? ''}</code>`,
    state,
    requests,
    findings,
  ]);
  const columns = [
    { heading: 'Since' },
    { heading: 'Last request' },
    { heading: 'Digest' },
    { heading: 'State' },
    { heading: 'Requests', isNumber: true },
    { heading: 'Findings' },
  ];
  return html`<h2>Policies in force</h2>
    ${htmlTable(columns, rows, 'No request was decided by a policy in this period.')}
    ${inForce.map(policyFiles)}`;
}

function policyFiles({ digest, files }: PolicyInForce): readonly Html[] {
  return files.map(({ name, text }) => {
    const cut =
      text.length > MOST_POLICY_TEXT
        ? html`<p class="faint">Cut here; the folder has the whole file.</p>`
        : '';
    return html`<details>
      <summary><code>policies/${digest}/${name}</code></summary>
      <pre>${text.slice(0, MOST_POLICY_TEXT)}</pre>
      ${cut}
    </details> `;
  });
}

function keys({ keys: all, zone }: EvidenceFacts): Html {
  const shown = (time: string | null, absent: string) =>
    time === null ? absent : shortTime(time, zone);
  const rows = all.map((key) => [
    html`<code>${key.id}</code>`,
    key.subject,
    key.state,
    key.roles.join(' '),
    (key.scopes ?? []).map(({ action, pattern }) => `${action}:${pattern}`).join(' '),
    shown(key.created, ''),
    shown(key.expires, 'never'),
    shown(key.revoked, ''),
    shown(key.last_used, 'never'),
  ]);
  const columns = [
    'Id',
    'Subject',
    'State',
    'Roles',
    'Scopes',
    'Created',
    'Expires',
    'Revoked',
    'Last used',
  ];
  return html`<h2>API keys</h2>
    <p class="faint">As of the time when this folder was made; secrets are stored nowhere.</p>
    ${htmlTable(
      columns.map((heading) => ({ heading })),
      rows,
      'There is no key.',
    )}`;
}

function limits({ limits: own, verification }: EvidenceFacts): Html {
  return html`<h2>Limits</h2>
    ${listOf([...own, ...verification.unknown])}`;
}
