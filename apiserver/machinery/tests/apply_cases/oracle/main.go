// Writes into the case files beside it what a kube-apiserver does with each step: the field manager of k8s.io/apimachinery
// (and with it sigs.k8s.io/structured-merge-diff), set up as apiextensions-apiserver sets it up for a custom resource.
//
// `go run . ../*.txt` after a case was added. Lines that begin with two spaces are its output; ../README.md has the format.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

const group = "merge.test"

var kind = schema.GroupKind{Group: group, Kind: "Widget"}

type object = map[string]interface{}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// conversion renames spec.title (v1) to spec.caption (v2).
type conversion struct{}

func (conversion) Convert(in, out, context interface{}) error { return fmt.Errorf("not needed") }

func (conversion) ConvertFieldLabel(gvk schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (conversion) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	result := in.DeepCopyObject().(*unstructured.Unstructured)
	target, ok := to.KindForGroupVersionKinds([]schema.GroupVersionKind{kind.WithVersion("v1"), kind.WithVersion("v2")})
	if !ok {
		return nil, fmt.Errorf("no version %v", to)
	}
	from := result.GroupVersionKind().Version
	if spec, ok := result.Object["spec"].(object); ok && from != target.Version {
		rename(spec, map[string][2]string{"v2": {"title", "caption"}, "v1": {"caption", "title"}}[target.Version])
	}
	result.SetGroupVersionKind(target)
	return result, nil
}

func rename(fields object, names [2]string) {
	if value, ok := fields[names[0]]; ok {
		delete(fields, names[0])
		fields[names[1]] = value
	}
}

type creater struct{}

func (creater) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	result := &unstructured.Unstructured{}
	result.SetGroupVersionKind(gvk)
	return result, nil
}

type universe struct {
	types      managedfields.TypeConverter
	structural map[string]*structuralschema.Structural
}

func (u universe) Default(in runtime.Object) {
	object := in.(*unstructured.Unstructured)
	defaulting.Default(object.Object, u.structural[object.GroupVersionKind().Version])
}

func load(properties json.RawMessage) universe {
	crd := &v1.CustomResourceDefinition{}
	crd.Name = "widgets." + group
	crd.Spec.Group = group
	crd.Spec.Scope = v1.NamespaceScoped
	crd.Spec.Names = v1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"}
	crd.Status.AcceptedNames = crd.Spec.Names
	result := universe{structural: map[string]*structuralschema.Structural{}}
	for _, version := range []string{"v1", "v2"} {
		props := &v1.JSONSchemaProps{Type: "object"}
		must(json.Unmarshal(properties, &props.Properties))
		if spec := props.Properties["spec"]; version == "v2" {
			if title, ok := spec.Properties["title"]; ok {
				delete(spec.Properties, "title")
				spec.Properties["caption"] = title
			}
		}
		crd.Spec.Versions = append(crd.Spec.Versions, v1.CustomResourceDefinitionVersion{
			Name: version, Served: true, Storage: version == "v1",
			Schema:       &v1.CustomResourceValidation{OpenAPIV3Schema: props},
			Subresources: &v1.CustomResourceSubresources{Status: &v1.CustomResourceSubresourceStatus{}},
		})
		internal := &apiextensions.JSONSchemaProps{}
		must(v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil))
		structural, err := structuralschema.NewStructural(internal)
		must(err)
		result.structural[version] = structural
	}
	first, err := builder.BuildOpenAPIV3(crd, "v1", builder.Options{})
	must(err)
	second, err := builder.BuildOpenAPIV3(crd, "v2", builder.Options{})
	must(err)
	merged, err := builder.MergeSpecsV3(first, second)
	must(err)
	result.types, err = managedfields.NewTypeConverter(merged.Components.Schemas, false)
	must(err)
	return result
}

type server struct {
	universe universe
	live     *unstructured.Unstructured
}

func (s *server) manager(version, subresource string) *managedfields.FieldManager {
	reset := map[fieldpath.APIVersion]*fieldpath.Set{}
	if subresource == "" {
		reset[fieldpath.APIVersion(group+"/"+version)] = fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	} else {
		for _, each := range []string{"v1", "v2"} {
			reset[fieldpath.APIVersion(group+"/"+each)] =
				fieldpath.NewSet(fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("spec"))
		}
	}
	gvk := kind.WithVersion(version)
	result, err := managedfields.NewDefaultCRDFieldManager(s.universe.types, conversion{}, s.universe, creater{}, gvk,
		gvk.GroupVersion(), subresource, fieldpath.NewExcludeFilterSetMap(reset))
	must(err)
	return result
}

func convert(in *unstructured.Unstructured, version string) *unstructured.Unstructured {
	out, err := conversion{}.ConvertToVersion(in, kind.WithVersion(version).GroupVersion())
	must(err)
	return out.(*unstructured.Unstructured)
}

func merge(target, patch object) object {
	if target == nil {
		target = object{}
	}
	for name, value := range patch {
		if value == nil {
			delete(target, name)
		} else if below, ok := value.(object); ok {
			old, _ := target[name].(object)
			target[name] = merge(old, below)
		} else {
			target[name] = value
		}
	}
	return target
}

// write performs one step: `MANAGER VERB [status] [force] [v2] BODY`.
func (s *server) write(words []string, body object) error {
	manager, verb := words[0], words[1]
	version, subresource, force := "v1", "", false
	for _, word := range words[2:] {
		switch word {
		case "status":
			subresource = word
		case "force":
			force = true
		case "v2":
			version = word
		default:
			panic(word)
		}
	}
	config := &unstructured.Unstructured{Object: body}
	if verb != "patch" {
		config.SetGroupVersionKind(kind.WithVersion(version))
		config.SetName("a")
	}
	var live *unstructured.Unstructured
	if s.live != nil {
		// What is read from the store is pruned.
		live = s.live.DeepCopy()
		pruning.Prune(live.Object, s.universe.structural["v1"], true)
		live = convert(live, version)
	} else {
		empty, _ := creater{}.New(kind.WithVersion(version))
		live = empty.(*unstructured.Unstructured)
	}
	fields := s.manager(version, subresource)
	var changed *unstructured.Unstructured
	if verb == "apply" {
		result, err := fields.Apply(live.DeepCopy(), config, manager, force)
		if err != nil {
			return err
		}
		changed = result.(*unstructured.Unstructured)
		s.universe.Default(changed)
	} else {
		if verb == "patch" {
			config = live.DeepCopy()
			merge(config.Object, body)
		}
		schema := s.universe.structural[version]
		pruning.Prune(config.Object, schema, true)
		defaulting.PruneNonNullableNullsWithoutDefaults(config.Object, schema)
		s.universe.Default(config)
		if live.GetUID() != "" {
			config.SetUID(live.GetUID())
		}
		changed = fields.UpdateNoErrors(live.DeepCopy(), config, manager).(*unstructured.Unstructured)
	}
	if subresource == "status" {
		managed := changed.GetManagedFields()
		status, ok := changed.Object["status"]
		changed = live.DeepCopy()
		delete(changed.Object, "status")
		if ok {
			changed.Object["status"] = status
		}
		changed.SetManagedFields(managed)
	} else if status, ok := live.Object["status"]; ok {
		changed.Object["status"] = status
	} else {
		delete(changed.Object, "status")
	}
	changed.SetUID("u")
	s.live = convert(changed, "v1")
	return nil
}

func text(value interface{}) string {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	must(encoder.Encode(value))
	return strings.TrimSpace(buffer.String())
}

// state is the object without its identity, then each entry of managedFields.
func (s *server) state() []string {
	shown := s.live.DeepCopy().Object
	delete(shown, "apiVersion")
	delete(shown, "kind")
	metadata := shown["metadata"].(object)
	for _, name := range []string{"name", "uid", "managedFields", "creationTimestamp"} {
		delete(metadata, name)
	}
	if len(metadata) == 0 {
		delete(shown, "metadata")
	}
	var owners []string
	for _, entry := range s.live.GetManagedFields() {
		var fields interface{}
		must(json.Unmarshal(entry.FieldsV1.Raw, &fields))
		version := strings.TrimPrefix(entry.APIVersion, group+"/")
		words := []string{entry.Manager, string(entry.Operation), version}
		if entry.Subresource != "" {
			words = append(words, entry.Subresource)
		}
		owners = append(owners, "  "+strings.Join(words, " ")+" "+text(fields))
	}
	sort.Strings(owners)
	return append([]string{"  = " + text(shown)}, owners...)
}

// oneLine sorts what several faults are told in: the field manager goes through a Go map.
func oneLine(message string) string {
	lines := strings.Split(message, "\n")
	if strings.HasSuffix(lines[0], "errors:") {
		sort.Strings(lines[1:])
	}
	return strings.Join(lines, "\\n")
}

func separator(body string) string {
	if body == "{}" {
		return ""
	}
	return ","
}

func run(path string, schemas map[string]json.RawMessage) {
	source, err := os.ReadFile(path)
	must(err)
	var out []string
	current := &server{}
	for _, line := range strings.Split(strings.TrimRight(string(source), "\n"), "\n") {
		if strings.HasPrefix(line, "  ") {
			continue
		}
		out = append(out, line)
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#" || words[0] == "case":
		case words[0] == "new":
			current = &server{universe: load(schemas[words[1]])}
		case words[0] == "schema":
			current.universe = load(schemas[words[1]])
		default:
			at := strings.Index(line, "{")
			body := &unstructured.Unstructured{}
			// Through the decoder of the API, so that integers are integers.
			must(body.UnmarshalJSON([]byte(strings.TrimSuffix(line[at:], "}") + separator(line[at:]) + `"apiVersion":"x","kind":"x"}`)))
			delete(body.Object, "apiVersion")
			delete(body.Object, "kind")
			if err := current.write(strings.Fields(line[:at]), body.Object); err != nil {
				out = append(out, "  ! "+oneLine(err.Error()))
			} else {
				out = append(out, current.state()...)
			}
		}
	}
	must(os.WriteFile(path, []byte(strings.Join(out, "\n")+"\n"), 0o644))
}

func main() {
	var schemas map[string]json.RawMessage
	for _, path := range os.Args[1:] {
		source, err := os.ReadFile(filepath.Join(filepath.Dir(path), "schemas.json"))
		must(err)
		must(json.Unmarshal(source, &schemas))
		run(path, schemas)
	}
}
