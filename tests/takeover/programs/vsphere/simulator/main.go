// A vCenter of govmomi's simulator, for the tests of vSphere's provider. Usage: simulator ADDRESS:PORT. It prints the thumbprint of its
// certificate when it listens, and ends with its standard input. Virtual machines that run get an address, as if their guests had tools.
package main

import (
	"crypto/sha1"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/simulator"
	_ "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: simulator ADDRESS:PORT")
	}
	model := simulator.VPX()
	if err := model.Create(); err != nil {
		log.Fatal(err)
	}
	model.Service.TLS = new(tls.Config)
	model.Service.RegisterEndpoints = true
	model.Service.Listen = &url.URL{Host: os.Args[1], User: url.UserPassword("user", "pass")}
	server := model.Service.NewServer()
	go addresses(model.Service.Context)
	fmt.Println(thumbprint(server.TLS.Certificates[0].Certificate[0]))
	_, _ = io.Copy(io.Discard, os.Stdin)
	server.Close()
	model.Remove()
}

func thumbprint(certificate []byte) string {
	sum := sha1.Sum(certificate)
	parts := make([]string, len(sum))
	for index, part := range sum {
		parts[index] = fmt.Sprintf("%02X", part)
	}
	return strings.Join(parts, ":")
}

func hasAddress(card types.GuestNicInfo) bool {
	return len(card.IpAddress) > 0
}

// addresses gives each running virtual machine an address of the network for documentation.
func addresses(context *simulator.Context) {
	next := 10
	for ; ; time.Sleep(200 * time.Millisecond) {
		for _, entity := range context.Map.All("VirtualMachine") {
			machine := entity.(*simulator.VirtualMachine)
			context.WithLock(machine, func() {
				isOn := machine.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn
				if !isOn || slices.ContainsFunc(machine.Guest.Net, hasAddress) {
					return
				}
				var cards []types.GuestNicInfo
				for _, device := range machine.Config.Hardware.Device {
					card, is := device.(types.BaseVirtualEthernetCard)
					if !is {
						continue
					}
					cards = append(cards, types.GuestNicInfo{
						Network:    "VM Network",
						MacAddress: card.GetVirtualEthernetCard().MacAddress,
						IpAddress:  []string{fmt.Sprintf("192.0.2.%d", next)},
						Connected:  true,
					})
					next++
				}
				context.Update(machine, []types.PropertyChange{{Name: "guest.net", Val: cards}})
			})
		}
	}
}
