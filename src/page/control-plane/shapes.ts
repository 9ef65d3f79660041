/** The answers of a control plane's administrative listener, as its page gets them: types only. */
export type * from '../../control-plane/http/overview/answers.ts';
