/** What a listener serves: everything, or health and metrics alone. */
export type Site = 'all' | 'admin';
