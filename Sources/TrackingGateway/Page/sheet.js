// The sheet at the lower edge of a phone's page, with the list or the panel. It has three stops: peek, half and full.

import { t } from "./i18n.js";

/** The width in pixels up to which the page has a sheet, as in the style sheet. */
const PHONE = "(max-width: 600px)";
/** The height of the sheet at the stop peek, and the height of the map that a full sheet leaves free, for the zoom buttons. */
const PEEK = 112;
const FREE = 124;
const STOPS = ["peek", "half", "full"];

/** Returns the height of a stop in pixels, on a page of a height. */
export function heightOf(stop, page) {
  const full = Math.max(PEEK, page - FREE);
  return { peek: Math.min(PEEK, full), half: Math.min(Math.max(PEEK, Math.round(page * 0.46)), full), full }[stop];
}

/** Returns the stop nearest to a height; a fast drag, in pixels per millisecond upwards, goes one further. */
export function stopAt(height, page, speed = 0) {
  const aim = height + speed * 150;
  const away = (stop) => Math.abs(heightOf(stop, page) - aim);
  return STOPS.reduce((best, stop) => away(stop) < away(best) ? stop : best);
}

export class Sheet {
  /**
   * @param element the sheet, whose parent is the page without the banner
   * @param grip the button that changes the stop
   * @param handles elements that drag the sheet
   */
  constructor(element, grip, handles) {
    this.element = element;
    this.grip = grip;
    this.media = matchMedia(PHONE);
    this.stop = "half";
    grip.addEventListener("click", (event) => this.clicked(event));
    grip.addEventListener("keydown", (event) => this.key(event));
    for (const handle of [grip, ...handles]) handle.addEventListener("pointerdown", (event) => this.grabbed(event));
    new ResizeObserver(() => this.show()).observe(element.parentElement);
    this.media.addEventListener("change", () => this.show());
    this.show();
  }

  /** True on a phone; on other pages the list and the panel have their own places. */
  get isOn() { return this.media.matches; }

  get page() { return this.element.parentElement.clientHeight; }

  /** The height in pixels that the sheet covers, after its movement; 0 on other pages. */
  get height() { return this.isOn ? heightOf(this.stop, this.page) : 0; }

  moveTo(stop) {
    this.stop = stop;
    this.show();
  }

  show(height = this.height) {
    document.documentElement.style.setProperty("--sheet", `${height}px`);
    this.element.dataset.stop = this.stop;
    this.grip.setAttribute("aria-label", t("sheet", { size: t(`sheet.${this.stop}`) }));
  }

  clicked() {
    if (this.hasDragged) return;
    this.moveTo(STOPS[(STOPS.indexOf(this.stop) + 1) % STOPS.length]);
  }

  key(event) {
    const step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    this.moveTo(STOPS[Math.max(0, Math.min(STOPS.length - 1, STOPS.indexOf(this.stop) + step))]);
  }

  /** Moves the sheet with the finger or the mouse until it is released. */
  grabbed(event) {
    this.hasDragged = false;
    if (!this.isOn || event.button !== 0 || (event.target.closest("button, input, select") ?? this.grip) !== this.grip) return;
    const [start, from] = [event.clientY, this.height];
    let [last, speed] = [{ y: start, time: event.timeStamp }, 0];
    const target = event.currentTarget;
    target.setPointerCapture(event.pointerId);
    const within = (height) => Math.max(heightOf("peek", this.page), Math.min(heightOf("full", this.page), height));
    const move = ({ clientY, timeStamp }) => {
      if (Math.abs(clientY - start) > 6) this.hasDragged = true;
      if (!this.hasDragged) return;
      speed = (last.y - clientY) / Math.max(1, timeStamp - last.time);
      last = { y: clientY, time: timeStamp };
      this.element.classList.add("dragged");
      this.show(within(from + start - clientY));
    };
    const end = (released) => {
      target.removeEventListener("pointermove", move);
      this.element.classList.remove("dragged");
      if (!this.hasDragged) return;
      const isIdle = released.timeStamp - last.time > 100;
      this.moveTo(stopAt(within(from + start - last.y), this.page, isIdle ? 0 : speed));
    };
    target.addEventListener("pointermove", move);
    target.addEventListener("pointerup", end, { once: true });
    target.addEventListener("pointercancel", end, { once: true });
  }
}

/** The time in milliseconds and the distance in pixels within which two taps are a double tap. */
const TWICE = 500;
const NEAR = 30;

/**
 * Handles the second tap of a double tap on the list wherever it lands, because the first tap may have opened the panel there.
 *
 * @param tappedTwice called with the id of the tapped row
 */
export function keepDoubleTaps(list, tappedTwice) {
  let first;
  document.addEventListener("click", (event) => {
    const isSecond = first !== undefined && event.detail > 0 && event.timeStamp - first.time < TWICE
      && Math.hypot(event.clientX - first.x, event.clientY - first.y) < NEAR;
    const row = event.target.closest("[role=option]");
    if (isSecond && !list.contains(event.target)) {
      event.stopPropagation();
      event.preventDefault();
      tappedTwice(first.id);
    }
    first = row && !isSecond ? { id: row.dataset.id, time: event.timeStamp, x: event.clientX, y: event.clientY } : undefined;
  }, true);
}
