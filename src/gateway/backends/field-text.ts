/** What no line of a head may hold (RFC 9110 section 5.5), a lone CR or LF included. */
export const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/;
