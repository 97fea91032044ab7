// The canvas for all markers, and the drawing on it.

const L = window.L;

/** Reads the colours of the style sheet, which defines the light and the dark scheme. */
export function palette() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  return {
    state: { ONLINE: read("--online"), STALE: read("--stale"), FAILED: read("--wrong"), OFFLINE: read("--offline"),
      OLD: read("--offline"), UNKNOWN: read("--offline") },
    ground: read("--ground"), text: read("--ink"), faint: read("--faint"), halo: read("--halo"),
    route: read("--route"),
  };
}

/** Fits a canvas to the whole map at the density of the screen, and returns the context to draw with. */
export function fitted(canvas, map) {
  const size = map.getSize();
  const ratio = window.devicePixelRatio || 1;
  // A canvas has whole pixels, but a screen with a density of 2.625 has not.
  const [width, height] = [Math.round(size.x * ratio), Math.round(size.y * ratio)];
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
    canvas.style.width = `${size.x}px`;
    canvas.style.height = `${size.y}px`;
  }
  L.DomUtil.setPosition(canvas, map.containerPointToLayerPoint([0, 0]));
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** A canvas over the whole map. `paint(context, view)` draws on it in every frame. */
export const Canvas = L?.Layer.extend({
  initialize(paint) { this.paint = paint; },

  onAdd(map) {
    this.canvas = L.DomUtil.create("canvas", "marker-canvas leaflet-zoom-hide", map.getPanes().markerPane);
    const frame = () => {
      this.request = requestAnimationFrame(frame);
      const context = fitted(this.canvas, map);
      const to = view(map);
      context.clearRect(0, 0, to.width, to.height);
      this.paint(context, to);
    };
    frame();
  },

  onRemove() {
    cancelAnimationFrame(this.request);
    this.canvas.remove();
  },
});

/** The highest latitude on the map, which does not contain the poles. */
export const FARTHEST = 85.0511;

/** Returns a longitude in the copy of the world in which it is nearest to another longitude. */
export const nearTo = (lng, other) => lng + 360 * Math.round((other - lng) / 360);

/** Returns places as [lat, lng] with longitudes that continue across the antimeridian: they begin behind the widest gap. */
export function beside(places) {
  const lngs = places.map((place) => place.lng).sort((a, b) => a - b);
  let [west, widest] = [lngs[0], lngs[0] + 360 - lngs[lngs.length - 1]];
  for (let i = 1; i < lngs.length; i += 1) {
    const gap = lngs[i] - lngs[i - 1];
    if (gap > widest) [west, widest] = [lngs[i], gap];
  }
  return places.map((place) => [place.lat, place.lng < west ? place.lng + 360 : place.lng]);
}

/** Returns functions that convert coordinates to pixels of the map, without creating an object for each place. `near` uses the
 * copy of the world that is nearest to the middle. */
export function view(map) {
  const zoom = map.getZoom();
  const scale = 256 * 2 ** zoom;
  const size = map.getSize();
  const origin = map.getPixelBounds().min;
  const middle = map.getCenter();
  const metresPerPixel = 40075016.686 * Math.cos(middle.lat * Math.PI / 180) / scale;
  const x = (lng) => (lng + 180) / 360 * scale - origin.x;
  return {
    zoom, width: size.x, height: size.y, metresPerPixel, middle: middle.lng, x,
    near: (lng) => x(nearTo(lng, middle.lng)),
    y: (lat) => {
      const sine = Math.sin(Math.max(-FARTHEST, Math.min(FARTHEST, lat)) * Math.PI / 180);
      return (0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)) * scale - origin.y;
    },
  };
}

/** Draws a marker: a disc in the colour of the state, an arrow in the heading, and the icon. */
export function drawMarker(context, x, y, marker, colours) {
  const sprite = spriteOf(marker, colours);
  context.drawImage(sprite, x - SPRITE / 2, y - SPRITE / 2, SPRITE, SPRITE);
  if (marker.icon) {
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = colours.halo;
    context.fillText(marker.icon, x, y);
    context.textAlign = "start";
    context.textBaseline = "alphabetic";
  }
}

/** The edge of a marker's image in pixels, and the step of its heading in degrees. */
const SPRITE = 48;
const TURN = 6;
const sprites = new Map();

/** Returns the image of a marker, which is drawn once and then copied in each frame. */
function spriteOf({ colour, bearing, isMoving, isChosen }, colours) {
  const heading = bearing !== undefined && isMoving ? Math.round(bearing / TURN) * TURN : undefined;
  const ratio = window.devicePixelRatio || 1;
  const key = `${colour} ${colours.halo} ${heading} ${Boolean(isChosen)} ${ratio}`;
  let sprite = sprites.get(key);
  if (sprite) return sprite;
  if (sprites.size > 2000) sprites.clear();
  const canvas = new OffscreenCanvas(Math.ceil(SPRITE * ratio), Math.ceil(SPRITE * ratio));
  const context = canvas.getContext("2d");
  context.scale(canvas.width / SPRITE, canvas.height / SPRITE);
  context.translate(SPRITE / 2, SPRITE / 2);
  const radius = isChosen ? 9 : 7;
  context.fillStyle = colour;
  context.strokeStyle = colours.halo;
  if (heading !== undefined) {
    const angle = (heading - 90) * Math.PI / 180;
    const corner = (turn, away) => [Math.cos(angle + turn) * away, Math.sin(angle + turn) * away];
    context.lineWidth = 3;
    context.lineJoin = "round";
    context.beginPath();
    context.moveTo(...corner(0, radius + 9));
    context.lineTo(...corner(0.62, radius + 1));
    context.lineTo(...corner(-0.62, radius + 1));
    context.closePath();
    context.stroke();
    context.fill();
  }
  context.beginPath();
  context.arc(0, 0, radius, 0, 2 * Math.PI);
  context.fill();
  context.lineWidth = isChosen ? 3 : 2;
  context.stroke();
  sprite = canvas.transferToImageBitmap();
  sprites.set(key, sprite);
  return sprite;
}

/** Draws the circle of 68 % confidence, if it is larger than the marker and not larger than the map. */
export function drawAccuracy(context, x, y, metres, view, colour) {
  const radius = metres / view.metresPerPixel;
  if (!(radius > 10) || radius > 4000) return;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.globalAlpha = 0.14;
  context.fillStyle = colour;
  context.fill();
  context.globalAlpha = 0.5;
  context.lineWidth = 1;
  context.strokeStyle = colour;
  context.stroke();
  context.globalAlpha = 1;
}

/**
 * Draws a line through places {lat, lng}; `colour` may be a function of the index of a step. The end of the line is in the copy
 * of the world that is nearest to the middle of the map. Each step goes the shorter way, also across the antimeridian.
 */
export function drawLine(context, view, places, colour, width, alpha = 1) {
  if (places.length === 0) return;
  context.globalAlpha = alpha;
  context.lineWidth = width;
  context.lineCap = context.lineJoin = "round";
  const isPlain = typeof colour !== "function";
  if (isPlain) { context.strokeStyle = colour; context.beginPath(); }
  let lng = view.middle; let before;
  for (let i = places.length - 1; i >= 0; i -= 1) {
    lng = nearTo(places[i].lng, lng);
    const [x, y] = [view.x(lng), view.y(places[i].lat)];
    const joins = before && !places[i + 1].isAfterGap;
    if (isPlain) { if (joins) context.lineTo(x, y); else context.moveTo(x, y); }
    else if (joins) {
      context.strokeStyle = colour(i + 1);
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(...before);
      context.stroke();
    }
    before = [x, y];
  }
  if (isPlain) context.stroke();
  context.globalAlpha = 1;
}
