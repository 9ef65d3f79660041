/** `/` leads to the search of the view, as elsewhere. */
export function searchBySlash(): void {
  addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const search = document.querySelector<HTMLInputElement>('input[type=search]');
    if (!search) return;
    event.preventDefault();
    search.focus();
  });
}
