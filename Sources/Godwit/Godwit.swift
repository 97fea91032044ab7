// One import for a program that publishes or watches.
@_exported public import TrackingCore
@_exported public import TrackingMQTT
@_exported public import TrackingPublisher
@_exported public import TrackingSpool
@_exported public import TrackingSubscriber
