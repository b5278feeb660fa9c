// Renders a model as text, for people and for other programs.

internal import CipherSQLite
public import ObjectVault

/// A language in which a model can be rendered.
public enum SchemaFormat: String, Sendable, Hashable, CaseIterable {
  /// The statements that create the model's tables, indexes and raw objects.
  case sql
  /// Canonical JSON, as ``/ObjectVault/Schema/json``.
  case json
  /// Classes with the property wrappers of ObjectVault, and their ``/ObjectVault/Schema``.
  case swift
  /// A Mermaid diagram (`erDiagram`), which many websites show as a picture.
  case mermaid
}

/// A model rendered in one of the languages.
public struct SchemaText: Sendable, Hashable {
  /// The text; it ends with a newline.
  public let text: String
  /// What the language cannot express, a sentence each.
  public let notes: [String]
}

extension Schema {
  /// Returns the model in one of the languages. Pure; the cost is proportional to the length of the text.
  ///
  /// ```swift
  /// let classes = schema.rendered(as: .swift)
  /// try Data(classes.text.utf8).write(to: URL(fileURLWithPath: "Model.swift"))
  /// ```
  /// - Parameter format: The language.
  /// - Returns: The text, with notes on what it does not express.
  public func rendered(as format: SchemaFormat) -> SchemaText {
    switch format {
    case .sql: SchemaText(text: canonical.sqlText, notes: [])
    case .json: SchemaText(text: json + "\n", notes: [])
    case .swift:
      SwiftRendering(canonical).rendered
    case .mermaid:
      SchemaText(
        text: MermaidRendering(canonical).text,
        notes: rawObjects.map { "A diagram cannot show the \($0.title)." })
    }
  }

  /// The statements for every table with its indexes, and for raw objects.
  private var sqlText: String {
    guard !entities.isEmpty else { return "-- The model has no entities.\n" }
    return creatingStatements.map { $0.map { "\($0);\n" }.joined() }.joined(separator: "\n")
  }
}
