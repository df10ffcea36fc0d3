/** A priority queue: a binary heap that gives its least element first. */
export class Heap<Element> {
  readonly #elements: Element[] = [];
  readonly #compare: (left: Element, right: Element) => number;

  /** @param compare Negative when the left element comes first. */
  constructor(compare: (left: Element, right: Element) => number) {
    this.#compare = compare;
  }

  push(element: Element): void {
    const elements = this.#elements;
    let place = elements.length;
    while (place > 0) {
      const above = (place - 1) >> 1;
      if (this.#compare(elements[above]!, element) <= 0) break;
      elements[place] = elements[above]!;
      place = above;
    }
    elements[place] = element;
  }

  /** Takes the least element out. */
  pop(): Element | undefined {
    const least = this.#elements[0];
    const last = this.#elements.pop();
    if (last !== undefined && this.#elements.length > 0) this.#sink(last);
    return least;
  }

  #sink(element: Element): void {
    const elements = this.#elements;
    let place = 0;
    for (;;) {
      const below = this.#lesserChild(place);
      if (below === undefined || this.#compare(element, elements[below]!) <= 0) break;
      elements[place] = elements[below]!;
      place = below;
    }
    elements[place] = element;
  }

  #lesserChild(place: number): number | undefined {
    const left = 2 * place + 1;
    const right = left + 1;
    if (left >= this.#elements.length) return undefined;
    if (right >= this.#elements.length) return left;
    return this.#compare(this.#elements[left]!, this.#elements[right]!) <= 0 ? left : right;
  }
}
