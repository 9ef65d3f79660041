/** The network as a parameter, for what is not the control API. */
export type Fetch = typeof globalThis.fetch;

export const systemFetch: Fetch = (input, init) => fetch(input, init);
