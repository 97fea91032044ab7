// The subscribers of Godwit, and the values that they share with the map page of the gateway.

export { Animator, bearing, distance, interpolated } from "./animator.js";
export { AssetSubscriber } from "./asset-subscriber.js";
export { TrackingError } from "./core/errors.js";
export { isLivePosition } from "./core/location.js";
export { GatewaySubscriber } from "./gateway-subscriber.js";
export { balanced, high, low, maximum, minimum } from "./resolution.js";
