/** One thing the gateway cannot do without, or can do without for a while. */
export interface ReadinessPart {
  readonly part: string;
  /** What the gateway is without it. */
  readonly without: 'degraded' | 'unavailable';
  /** What is wrong with it; undefined when nothing is. */
  readonly fault: () => string | undefined | Promise<string | undefined>;
  /** What those who manage may want to know of it, though it is no fault. */
  readonly remark?: () => string | undefined;
}
