import { canonicalPath } from '../../protocol/identifier.ts';
import { html, type Html } from './html.ts';
import {
  READING,
  type MatrixCaller,
  type MatrixCell,
  type ReadAccess,
  type ReadMatrix,
} from './who-can-read.ts';

/** Tables and callers that the page shows; the CSV file has all. */
const MOST_TABLES = 60;
const MOST_CALLERS = 24;

const marks: Readonly<Record<ReadAccess, readonly [mark: string, style: string]>> = {
  yes: ['●', 'good'],
  restricted: ['◐', 'warn'],
  conditional: ['◇', 'warn'],
  no: ['', ''],
};

/** Who can read which tables, as a table with a column for each caller. */
export function matrixSection(
  matrix: { readonly digest: string; readonly cells: ReadMatrix } | undefined,
): Html {
  if (matrix === undefined) {
    return html`<h2>Who can read</h2>
      <p class="none">No policy of this period can be read any more.</p>`;
  }
  const { tables, callers } = matrix.cells;
  const shown = callers.slice(0, MOST_CALLERS);
  const rows = tables.slice(0, MOST_TABLES).map((table) => {
    const cells = matrix.cells.row(table).slice(0, MOST_CALLERS);
    return html`<tr>
      <td>${canonicalPath(table)}</td>
      ${cells.map(cellOf)}
    </tr> `;
  });
  const isWhole = shown.length === callers.length && rows.length === tables.length;
  return html`<h2>Who can read</h2>
    <p>
      The last policy of the period (<code>${matrix.digest}</code>) on ${READING}, for the names of
      its lines and for the keys that may be used. <span class="good">●</span> reads everything,
      <span class="warn">◐</span> reads under restrictions, <span class="warn">◇</span> reads only
      where a condition holds. Point at a mark for its line and its restrictions;
      <code>who-can-read.csv</code> has them all.
    </p>
    ${isWhole ? '' : html`<p class="faint">Shown are ${rows.length} of ${tables.length} tables and ${shown.length} of ${callers.length} callers.</p>`}
    ${
      rows.length === 0
        ? html`<p class="none">The catalog has no table.</p>`
        : html`<div class="wide">
            <table class="matrix">
              <thead>
                <tr>
                  <th scope="col">Table</th>
                  ${shown.map(heading)}
                </tr>
              </thead>
              <tbody>
                ${rows}
              </tbody>
            </table>
          </div>`
    }`;
}

function heading({ subject, key }: MatrixCaller): Html {
  return html`<th scope="col">${subject}${key === null ? '' : html`<br />key ${key}`}</th>`;
}

function cellOf({ access, rule, restrictions }: MatrixCell): Html {
  const [mark, style] = marks[access];
  if (mark === '') return html`<td></td>`;
  const about = [rule ?? 'no line', ...restrictions.map(({ name }) => name)].join(', ');
  return html`<td class="${style}" title="${about}">${mark}</td>`;
}
