//! Has traces sent to an OTLP collector, over HTTP as protobuf. The header fields and the resource can be completed by the
//! usual variables of OpenTelemetry (`OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_RESOURCE_ATTRIBUTES`).

use opentelemetry::KeyValue;
use opentelemetry_otlp::{ExporterBuildError, Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{BatchSpanProcessor, SpanProcessor as _};

use crate::trace;

/// Has spans sent in batches, by a thread of its own; beyond its queue they are dropped, and no message waits.
pub fn start(url: &str) -> Result<(), ExporterBuildError> {
    let exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(url)
        .build()?;
    let mut processor = BatchSpanProcessor::builder(exporter).build();
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let resource = Resource::builder().with_service_name("waxwing").with_attribute(version).build();
    processor.set_resource(&resource);
    trace::export_to(Box::new(processor));
    Ok(())
}
