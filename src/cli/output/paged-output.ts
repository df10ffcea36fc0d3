import type { Output } from './output.ts';
import { Pager, type PagerProgram } from './pager.ts';
import { fitted } from './fitted.ts';

/** The size of a terminal, in characters and lines. */
interface Screen {
  readonly width: number;
  readonly height: number;
}

/**
 * Output for people: lines are broken at spaces where they are wider than the terminal, and an answer that is longer than
 * the screen goes to a pager. A shorter answer is held back until its end.
 */
export class PagedOutput implements Output {
  readonly #output: Output;
  readonly #program: PagerProgram | undefined;
  readonly #screen: Screen;
  readonly width: number;
  readonly colour: boolean;
  /** Undefined once the answer is too long for the screen, or at its end. */
  #held: Uint8Array[] | undefined = [];
  #lines = 0;
  /** Resolves with undefined where there is no pager. */
  #pager: Promise<Pager | undefined> = Promise.resolve(undefined);
  #isPaging = false;
  readonly #notes: string[] = [];

  /** @param program Undefined for no pager. */
  constructor(output: Output, program: PagerProgram | undefined, screen: Screen) {
    this.#output = output;
    this.#program = program;
    this.#screen = screen;
    this.width = screen.width;
    this.colour = output.colour === true;
    if (program === undefined) this.#held = undefined;
  }

  /** Progress would write over the pages. */
  get watched(): boolean {
    return this.#output.watched && !this.#isPaging;
  }

  line(text: string): void {
    void this.bytes(Buffer.from(`${fitted(text, this.#screen.width)}\n`));
  }

  async bytes(piece: Uint8Array): Promise<boolean> {
    if (this.#held === undefined) return this.#written(piece);
    this.#held.push(piece);
    this.#lines += linesOf(piece);
    // The prompt of the shell takes a line.
    if (this.#lines < this.#screen.height) return true;
    const text = Buffer.concat(this.#held);
    this.#held = undefined;
    this.#pager = this.#started();
    return this.#written(text);
  }

  note(text: string): void {
    if (this.#isPaging) this.#notes.push(text);
    else this.#output.note(text);
  }

  /** Resolves when everything is printed, and the reader has left the pager. */
  async end(): Promise<void> {
    const rest = this.#held ?? [];
    this.#held = undefined;
    for (const piece of rest) await this.#output.bytes(piece);
    await (await this.#pager)?.end();
    this.#isPaging = false;
    for (const text of this.#notes.splice(0)) this.#output.note(text);
  }

  async #written(piece: Uint8Array): Promise<boolean> {
    const pager = await this.#pager;
    return pager === undefined ? this.#output.bytes(piece) : pager.write(piece);
  }

  async #started(): Promise<Pager | undefined> {
    const program = this.#program!;
    this.#isPaging = true;
    const pager = await Pager.start(program);
    if (pager !== undefined) return pager;
    this.#isPaging = false;
    if (program.isChosen) {
      this.#output.note(
        `arrowgate: the pager ${program.command} cannot be started: set ARROWGATE_PAGER or PAGER to another, or use --no-pager`,
      );
    }
    return undefined;
  }
}

const NEWLINE = 10;

function linesOf(piece: Uint8Array): number {
  let count = 0;
  for (let at = piece.indexOf(NEWLINE); at >= 0; at = piece.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}
