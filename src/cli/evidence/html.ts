/** Text that is HTML already, as opposed to values, which are escaped. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | bigint | null | readonly Part[];

/** HTML of a template, whose values are escaped unless they are HTML themselves. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(texts.map((text, at) => text + partText(parts[at] ?? '')).join(''));
}

function partText(part: Part): string {
  if (part instanceof Html) return part.text;
  if (part === null) return '';
  if (typeof part === 'object') return part.map(partText).join('');
  return escaped(String(part));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Names come from clients: characters that HTML does not allow become `?`. */
function escaped(text: string): string {
  return text
    .replaceAll(/[^\P{Cc}\t\n]|\p{Cs}|[\u202A-\u202E\u2066-\u2069]/gu, '?')
    .replaceAll(/[&<>"']/g, (found) => ENTITIES[found]!);
}

/** A column of a table. */
export interface HtmlColumn {
  readonly heading: string;
  /** Whether it has numbers, which are aligned at the right. */
  readonly isNumber?: boolean;
}

/** A table with headings; a sentence in its place when there are no rows. */
export function htmlTable(
  columns: readonly HtmlColumn[],
  rows: readonly (readonly Part[])[],
  empty: string,
): Html {
  if (rows.length === 0) return html`<p class="none">${empty}</p>`;
  const classOf = (at: number) => (columns[at]?.isNumber === true ? html` class="n"` : '');
  const head = columns.map(
    ({ heading }, at) => html`<th scope="col" ${classOf(at)}>${heading}</th>`,
  );
  const body = rows.map(
    (row) =>
      html`<tr>
        ${row.map((cell, at) => html`<td${classOf(at)}>${cell}</td>`)}
      </tr> `,
  );
  return html`<div class="wide">
    <table>
      <thead>
        <tr>
          ${head}
        </tr>
      </thead>
      <tbody>
        ${body}
      </tbody>
    </table>
  </div>`;
}
