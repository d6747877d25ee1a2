// Colours stand in style.css, so that light, dark and print have one definition each.
export const phases = ['forward', 'backward', 'input_gradient', 'weight_gradient', 'recompute', 'optimizer', 'other'];
export const dimensions = ['tensor', 'context', 'expert', 'pipeline', 'gather', 'reduce', 'none'];

export const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// Of an event: its phase when it computes, its dimension when it communicates.
export function class_of(kind) {
  if (kind.phase === 'wait') return 'wait';
  if (kind.dimension) return `dimension-${kind.dimension}`;
  return `phase-${kind.phase}`;
}

export const words = (name) => name.replace(/^(phase|dimension)-/, '').replace('none', 'other communication').replace(/_/g, ' ');

const watchers = new Set();
export const on_theme = (redraw) => {
  watchers.add(redraw);
  return () => watchers.delete(redraw);
};

export function set_theme(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  for (const redraw of watchers) redraw();
}

export function watch_system() {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => set_theme(document.documentElement.dataset.theme));
  let before;
  addEventListener('beforeprint', () => {
    before = document.documentElement.dataset.theme;
    for (const details of document.querySelectorAll('details')) {
      details.dataset.was = details.open;
      details.open = true;
    }
    set_theme('light');
  });
  addEventListener('afterprint', () => {
    for (const details of document.querySelectorAll('details')) details.open = details.dataset.was === 'true';
    set_theme(before);
  });
}
