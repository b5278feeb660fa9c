// swift-tools-version: 6.2
// Small programs that use ObjectVault, each in one file. They are a separate package, so that users of the
// library do not build them. `swift run --package-path Examples notes`

import PackageDescription

let package = Package(
  name: "Examples",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "ObjectVault", path: "..")],
  targets: ["notes", "importer", "changing-model"].map { name in
    .executableTarget(
      name: name, dependencies: [.product(name: "ObjectVault", package: "ObjectVault")],
      swiftSettings: [.swiftLanguageMode(.v6)])
  }
)
