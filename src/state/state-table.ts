/** State files of every version have it. Other programs have tables such as `meta` as well, so those tell nothing apart. */
export const stateTable = 'intents';
