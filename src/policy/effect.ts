/** What a line does to the rights that it names. */
export type Effect = 'allow' | 'deny';
